// jit/kernel_task.cpp: binding a kernel's arguments, and running it over blocks of lanes.
#include "jit/kernel_task.h"
#include "jit/finish_later.h"
#include "jit/host_call.h"
#include "jit/launch_log.h"
#include "jit/stream.h"
#include "jit/summing_device.h"
#include <algorithm>
#include <cstring>

namespace umbel::jit {

static thread_local uint32_t t_block = 0;
uint32_t current_block() { return t_block; }

std::vector<CallTables::Copy> CallTables::fill(const Task &task, Device *device,
                                               const std::vector<uint64_t> &replaced) {
    std::vector<Copy> on_device;
    if (copies.empty())
        return on_device; // nothing to write to what launches share
    data = std::make_shared<std::vector<uint8_t>>(*data);
    for (const Copy &c : copies) {
        Buffer &array = *task.arrays[c.array].buffer;
        if (c.bytes == 0) {
            uint64_t address = c.array < replaced.size() ? replaced[c.array] : 0;
            if (!address)
                address = device ? array.device_address(*device)
                                 : reinterpret_cast<uintptr_t>(array.data());
            std::memcpy(&(*data)[c.offset], &address, sizeof(address));
        } else if (device && array.is_on_device()) {
            on_device.push_back(c);
        } else {
            std::memcpy(&(*data)[c.offset], array.data(), c.bytes);
        }
    }
    return on_device;
}

void KernelTask::Call::bind(const Task &task) {
    args.assign(arrays.size(), nullptr);
    sizes.assign(arrays.size(), task.size);
    for (size_t i = 0; i < arrays.size(); ++i) {
        if (arrays[i] == NoArray)
            continue;
        args[i] = task.data(arrays[i]);
        sizes[i] = task.arrays[arrays[i]].size;
    }
}

// Results of a block stay in the caches: it is a launch of few lanes for the kernel.
void KernelTask::Call::run_block(char *const *slots, uint64_t begin, uint64_t end,
                                 CollectingLog &log) const {
    std::vector<void *> local = args;
    for (size_t k = 0; k < slot_args.size(); ++k)
        local[slot_args[k]] = slots[k];
    kernel->run({ local.data(), sizes.data(), end - begin, &log }, begin, end);
}

void KernelTask::bind() {
    main.bind(*this);
    for (CallTables &t : tables)
        t.fill(*this);
    for (auto [arg, which] : table_args) {
        CallTables &t = tables[which / 2];
        main.args[arg] = which & 1 ? static_cast<void *>(t.data->data()) : t.table.data();
        main.sizes[arg] = which & 1 ? t.data->size() : t.table.size();
    }

    // Scatters
    auto bind_operand = [&](ScatterOperand &o) {
        if (o.array == NoArray)
            return;
        o.data = arrays[o.array].buffer;
        for (const RegionScatter::Column &c : regions.outputs)
            if (c.array == o.array)
                o.data = c.ordered;
    };
    auto bind_target = [&](ScatterTarget &t) {
        t.data = data(t.array);
        t.cells = arrays[t.array].size;
    };
    for (ScatterTarget &t : scatters.targets)
        bind_target(t);
    for (BlockScatter::Effect &e : scatters.effects)
        for (ScatterOperand *o : { &e.index, &e.value, &e.mask })
            bind_operand(*o);
    if (!by_region)
        return;
    index.bind(*this);
    for (auto *columns : { &regions.inputs, &regions.outputs })
        for (RegionScatter::Column &c : *columns) {
            c.lanes = arrays[c.array].buffer;
            c.ordered = allocate(RegionScatter::ordered_lanes(size) * c.width);
            main.args[c.arg] = c.ordered->data();
        }
    bind_target(regions.target);
    for (RegionScatter::Effect &e : regions.effects)
        for (ScatterOperand *o : { &e.value, &e.mask })
            bind_operand(*o);
}

void KernelTask::run() {
    if (size == 0)
        return;
    if (device) {
        struct Kept { // until the device has run it
            std::shared_ptr<Kernel> kernel;
            std::vector<ExternSite> sites;
            CollectingLog log{ sites };
        };
        auto kept = std::make_shared<Kept>(main.kernel, externs);
        run_on_device(kept->log);
        is_computed = true;
        if (!externs.empty())
            finish_later(name, [kept] { kept->log.finish(); });
        return;
    }
    CollectingLog log(externs);
    bind();
    auto compute = [&](char *const *slots, uint64_t begin, uint64_t end) {
        if (main.kernel)
            main.run_block(slots, begin, end, log);
    };
    if (by_region)
        regions.run(
            size,
            [&](uint32_t *out, uint64_t begin, uint64_t end) {
                char *slot = reinterpret_cast<char *>(out - begin);
                index.run_block(&slot, begin, end, log);
            },
            compute);
    else if (!scatters.effects.empty())
        scatters.run(size, compute);
    else if (PrivateCopies copies = private_copies(); copies.chunks(size) > 1)
        run_summing(copies, log);
    else
        run_blocks(log);
    for (const Sum &s : sums) {
        std::vector<void *> targets;
        for (uint32_t t : s.targets)
            targets.push_back(data(t));
        s.effect->finish(targets);
    }
    is_computed = true;
    log.finish();
}

void KernelTask::run_on_device(CollectingLog &log) {
    // What takes the place of arrays that lanes add to
    auto *summing = dynamic_cast<SummingDevice *>(device);
    std::vector<SumTarget> targets;
    for (uint32_t array : summed)
        targets.push_back({ arrays[array].buffer.get(), arrays[array].type, arrays[array].size });
    std::vector<uint64_t> places;
    if (summing && !targets.empty())
        places = summing->begin_sums(targets);
    try {
        launch_on_device(log, places);
        if (summing && !targets.empty())
            summing->end_sums(targets, places);
    } catch (...) {
        if (summing && !targets.empty())
            summing->drop_sums(targets, places);
        throw;
    }
    for (uint32_t array : written)
        if (arrays[array].buffer->bytes()) // else a pointer of the host, which has no copy
            arrays[array].buffer->device_wrote();
}

void KernelTask::launch_on_device(CollectingLog &log, const std::vector<uint64_t> &places) {
    std::vector<uint64_t> replaced(arrays.size(), 0);
    std::vector<BufferRef> pointers(arrays.size()); // of no bytes: bound as they are
    for (size_t k = 0; k < places.size(); ++k)
        if (places[k]) {
            replaced[summed[k]] = places[k];
            pointers[summed[k]] = borrow(reinterpret_cast<void *>(places[k]), 0, {});
        }

    std::vector<BufferRef> records(tables.size()); // of instances whose numbers only the device has
    for (size_t k = 0; k < tables.size(); ++k) {
        std::vector<CallTables::Copy> copies = tables[k].fill(*this, device, replaced);
        auto *copying = dynamic_cast<ArrayDevice *>(device);
        if (copies.empty())
            continue;
        check(copying != nullptr);
        const std::vector<uint8_t> &known = *tables[k].data;
        records[k] = allocate(known.size());
        std::memcpy(records[k]->data(), known.data(), known.size());
        uint64_t to = records[k]->device_address(*device);
        std::vector<SmallCopy> fields;
        for (const CallTables::Copy &c : copies)
            fields.push_back(
                { arrays[c.array].buffer->device_address(*device), to + c.offset, c.bytes });
        copying->copy_each(fields);
        records[k]->device_wrote();
    }
    std::vector<DeviceLaunch::Arg> args(main.arrays.size());
    for (size_t i = 0; i < args.size(); ++i)
        if (uint32_t array = main.arrays[i]; array != NoArray)
            args[i].buffer = pointers[array] ? pointers[array].get() : arrays[array].buffer.get();
    for (auto [arg, which] : table_args) {
        const CallTables &t = tables[which / 2];
        if (which & 1 && records[which / 2]) {
            args[arg].buffer = records[which / 2].get();
            continue;
        }
        args[arg].host = which & 1 ? static_cast<const void *>(t.data->data()) : t.table.data();
        args[arg].bytes = which & 1 ? t.data->size() : t.table.size() * sizeof(uint32_t);
    }
    main.kernel->run_on_device({ args, size, &log });
}

PrivateCopies KernelTask::private_copies() const {
    PrivateCopies copies;
    for (uint32_t array : summed)
        copies.targets.push_back({ arrays[array].type, data(array), arrays[array].size, array });
    copies.choose(size);
    return copies;
}

// The kernel with its pointers to the targets replaced, in its arguments and in the records of instances.
void KernelTask::run_summing(const PrivateCopies &copies, CollectingLog &log) {
    // Few lanes at a time: sums in single precision are to be short
    uint64_t few = std::max<uint64_t>(128, main.kernel->width());
    copies.run(size, few, [&](uint32_t chunk, const std::vector<void *> &copy) {
        auto replace = [&](uint32_t array, auto &&store) {
            for (size_t k = 0; k < copies.targets.size(); ++k)
                if (copies.targets[k].array == array)
                    store(copy[k]);
        };
        std::vector<void *> args = main.args;
        for (size_t i = 0; i < args.size(); ++i)
            replace(main.arrays[i], [&](void *p) { args[i] = p; });
        std::vector<std::vector<uint8_t>> data(tables.size());
        for (auto [arg, which] : table_args) {
            if (!(which & 1))
                continue;
            std::vector<uint8_t> &records = data[which / 2] = *tables[which / 2].data;
            for (const CallTables::Copy &c : tables[which / 2].copies)
                if (c.bytes == 0)
                    replace(c.array,
                            [&](void *p) { std::memcpy(&records[c.offset], &p, sizeof(p)); });
            args[arg] = records.data();
        }
        return [this, &log, chunk, args = std::move(args), data = std::move(data)](uint64_t begin,
                                                                                   uint64_t end) {
            t_block = chunk; // which one thread runs from end to end
            main.kernel->run({ args.data(), main.sizes.data(), size, &log }, begin, end);
        };
    });
}

void KernelTask::run_blocks(CollectingLog &log) {
    Launch launch{ main.args.data(), main.sizes.data(), size, &log };
    // Enough blocks to balance the load, none so small that handing it out costs more than its work
    uint64_t per_block = std::max<uint64_t>(grain, size / 64);
    if (size * operations < 1u << 16)
        per_block = size;
    per_block = (per_block + grain - 1) / grain * grain;
    parallel_blocks(size, per_block, [&](uint64_t begin, uint64_t end) {
        t_block = uint32_t(begin / per_block);
        main.kernel->run(launch, begin, end);
    });
}

// The kernel's name is a hash of its program, so equal arguments do equal things.
bool KernelTask::same(const Task &other) const {
    auto *o = dynamic_cast<const KernelTask *>(&other);
    if (!o || o->name != name || o->main.arrays != main.arrays || o->by_region != by_region ||
        o->table_args != table_args || o->tables.size() != tables.size() ||
        o->scatters.effects.size() != scatters.effects.size())
        return false;
    for (size_t i = 0; i < tables.size(); ++i)
        if (o->tables[i].table != tables[i].table || o->tables[i].copies != tables[i].copies ||
            *o->tables[i].data != *tables[i].data)
            return false;
    auto operand = [](const ScatterOperand &a, const ScatterOperand &b) {
        return a.array == b.array && a.slot == b.slot && a.literal == b.literal;
    };
    for (size_t i = 0; i < scatters.effects.size(); ++i) {
        const auto &a = scatters.effects[i], &b = o->scatters.effects[i];
        const ScatterTarget &t = scatters.targets[a.target], &u = o->scatters.targets[b.target];
        if (t.array != u.array || t.op != u.op || !operand(a.index, b.index) ||
            !operand(a.value, b.value) || !operand(a.mask, b.mask))
            return false;
    }
    return true;
}

} // namespace umbel::jit
