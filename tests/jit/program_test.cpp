// tests/jit/program_test.cpp: bytes, text, drawing and verification of programs.
#include "jit/error.h"
#include "jit/program.h"
#include <bit>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <new>

namespace umbel::jit {
namespace {

// Appends instructions to one function and gives their values.
struct Builder {
    Function &f;

    uint32_t add(Op op, Type type, std::vector<uint32_t> args = {}, uint64_t imm = 0,
                 uint32_t length = 0, bool uniform = false) {
        Inst i{};
        i.op = op;
        i.type = type;
        i.uniform = uniform;
        i.length = length;
        for (size_t k = 0; k < 4; ++k)
            i.arg[k] = k < args.size() ? args[k] : NoValue;
        i.imm = imm;
        f.insts.push_back(i);
        return uint32_t(f.insts.size() - 1);
    }
    uint32_t f32(float v) {
        return add(Op::Literal, Type::F32, {}, std::bit_cast<uint32_t>(v), 0, true);
    }
    uint32_t u32(uint32_t v) { return add(Op::Literal, Type::U32, {}, v, 0, true); }
    uint32_t mask(bool v) { return add(Op::Literal, Type::Bool, {}, v, 0, true); }
    void mark(Op op, std::vector<uint32_t> args = {}) { add(op, Type::Void, args); }
};

Program straight_line() {
    Program p;
    p.args = { { ArgKind::Input, Type::F32 },
               { ArgKind::Scalar, Type::F32 },
               { ArgKind::Output, Type::F32 } };
    p.functions.resize(1);
    Builder b{ p.functions[0] };
    uint32_t x = b.add(Op::LoadLane, Type::F32, {}, 0);
    uint32_t s = b.add(Op::LoadScalar, Type::F32, {}, 1, 0, true);
    uint32_t y = b.add(Op::Fma, Type::F32, { x, s, b.f32(2.5f) });
    b.add(Op::StoreLane, Type::Void, { y }, 2);
    return p;
}

// Everything at once: a loop around a conditional, arrays, packets, scatters, a call and a print.
// The positions of what the tests change are noted beside it.
struct Full {
    Program p;
    uint32_t x, ptr, index, yes, cond, phi, phi_array, branch_value, merge, next, call, result,
        packet, get, scatter, store, loop_begin, loop_while, if_begin, print, inner, uniform_sum,
        array_get, array_set, other_value;

    Full() {
        p.args = { { ArgKind::Input, Type::F32 },
                   { ArgKind::Pointer, Type::F32 },
                   { ArgKind::Output, Type::F32 },
                   { ArgKind::CallTable, Type::U32 },
                   { ArgKind::CallData, Type::U8 } };
        p.functions.resize(3);

        Builder k{ p.functions[0] };
        x = k.add(Op::LoadLane, Type::F32, {}, 0);
        ptr = k.add(Op::ArgPtr, Type::Ptr, {}, 1, 0, true);
        index = k.add(Op::Lane, Type::U32);
        yes = k.add(Op::Active, Type::Bool);
        uint32_t one = k.f32(1), zero = k.u32(0);
        uniform_sum = k.add(Op::Add, Type::F32, { one, one }, 0, 0, true);
        uint32_t array = k.add(Op::ArrayNew, Type::F32, { one }, 0, 8);
        loop_begin = uint32_t(k.f.insts.size());
        k.mark(Op::LoopBegin);
        phi = k.add(Op::Phi, Type::F32, { x, 0 });
        phi_array = k.add(Op::Phi, Type::F32, { array, 0 }, 0, 8);
        cond = k.add(Op::Lt, Type::Bool, { phi, uniform_sum });
        loop_while = k.add(Op::LoopWhile, Type::Void, { cond });
        array_set = k.add(Op::ArraySet, Type::F32, { phi_array, zero, phi, cond }, 0, 8);
        uint32_t half = k.add(Op::Le, Type::Bool, { phi, one });
        if_begin = k.add(Op::IfBegin, Type::Void, { half });
        branch_value = k.add(Op::Sin, Type::F32, { phi });
        k.mark(Op::Else);
        inner = k.add(Op::LoopBegin, Type::Void);
        uint32_t j = k.add(Op::Phi, Type::U32, { zero, 0 });
        k.add(Op::LoopWhile, Type::Void, { k.add(Op::Lt, Type::Bool, { j, index }) });
        k.f.insts[j].arg[1] = k.add(Op::Add, Type::U32, { j, index });
        k.mark(Op::LoopEnd);
        other_value = k.add(Op::Cast, Type::F32, { j });
        k.mark(Op::EndIf);
        merge = k.add(Op::Merge, Type::F32, { half, branch_value, other_value });
        next = k.add(Op::Add, Type::F32, { merge, one });
        k.mark(Op::LoopEnd);
        k.f.insts[phi].arg[1] = next;
        k.f.insts[phi_array].arg[1] = array_set;

        array_get = k.add(Op::ArrayGet, Type::F32, { phi_array, index, yes });
        packet = k.add(Op::Packet, Type::F32, { ptr, index, yes }, 4);
        get = k.add(Op::PacketGet, Type::F32, { packet }, 3);
        scatter = k.add(Op::Scatter, Type::Void, { ptr, index, get, yes }, 1);
        call = k.add(Op::Call, Type::Void, { index, yes }, 0);
        result = k.add(Op::CallOut, Type::F32, { call }, 0);
        print = k.add(Op::Extern, Type::Void, {}, 0);
        store = k.add(Op::StoreLane, Type::Void, { result }, 2);

        Builder a{ p.functions[1] };
        p.functions[1].params = p.functions[2].params = { Type::F32 };
        p.functions[1].data_bytes = 8;
        uint32_t field = a.add(Op::Data, Type::F32, {}, 4);
        p.functions[1].outputs = { a.add(Op::Mul, Type::F32,
                                         { a.add(Op::Param, Type::F32, {}, 0), field }) };
        Builder c{ p.functions[2] };
        p.functions[2].outputs = { c.add(Op::Param, Type::F32, {}, 0) };

        CallSite site;
        site.callees = { 1, 2 };
        site.args = { phi };
        site.out_types = { Type::F32 };
        site.table = 3;
        site.data = 4;
        p.calls = { site };
        ExternSite extern_site;
        extern_site.kind = ExternSite::Print;
        extern_site.text = "x = \"{}\" <&>\n";
        extern_site.mask = yes;
        extern_site.inputs = { x };
        extern_site.in_types = { Type::F32 };
        p.externs = { extern_site };
    }
    Inst &inst(uint32_t i) { return p.functions[0].insts[i]; }
};

// ---- Bytes

TEST(Program, EqualProgramsHaveEqualBytes) {
    // Different garbage in the memory from which the instructions are made must not show.
    EXPECT_EQ(Full().p.serialize(), Full().p.serialize());
    Program p = Full().p, q;
    for (Function &f : p.functions) {
        Function g = f;
        g.insts.clear();
        for (const Inst &i : f.insts) {
            alignas(Inst) unsigned char raw[sizeof(Inst)];
            std::memset(raw, 0xAB, sizeof raw);
            Inst *n = new (raw) Inst;
            n->op = i.op, n->type = i.type, n->uniform = i.uniform, n->length = i.length;
            for (int k = 0; k < 4; ++k)
                n->arg[k] = i.arg[k];
            n->imm = i.imm;
            g.insts.push_back(*n);
        }
        q.functions.push_back(g);
    }
    q.calls = p.calls, q.externs = p.externs, q.args = p.args;
    EXPECT_EQ(p.serialize(), q.serialize());
}

TEST(Program, EveryFieldChangesTheBytes) {
    using Change = std::function<void(Full &)>;
    std::vector<Change> changes = {
        [](Full &f) { f.inst(4).op = Op::Lane; },
        [](Full &f) { f.inst(4).type = Type::F64; },
        [](Full &f) { f.inst(4).uniform ^= 1; },
        [](Full &f) { f.inst(4).length = 3; },
        [](Full &f) { f.inst(4).imm ^= 1ull << 63; },
        [](Full &f) { f.inst(f.scatter).arg[0] ^= 1; },
        [](Full &f) { f.inst(f.scatter).arg[1] ^= 1; },
        [](Full &f) { f.inst(f.scatter).arg[2] ^= 1; },
        [](Full &f) { f.inst(f.scatter).arg[3] ^= 1; },
        [](Full &f) { f.p.functions[0].insts.pop_back(); },
        [](Full &f) { f.p.functions[1].outputs[0] = 0; },
        [](Full &f) { f.p.functions[1].outputs.clear(); },
        [](Full &f) { f.p.functions[1].params[0] = Type::U32; },
        [](Full &f) { f.p.functions[1].data_bytes = 12; },
        [](Full &f) { f.p.functions.emplace_back(); },
        [](Full &f) { f.p.calls[0].callees = { 2, 1 }; },
        [](Full &f) { f.p.calls[0].args[0] = 0; },
        [](Full &f) { f.p.calls[0].out_types.push_back(Type::F32); },
        [](Full &f) { f.p.calls[0].table = 0; },
        [](Full &f) { f.p.calls[0].data = 0; },
        [](Full &f) { f.p.calls.push_back(f.p.calls[0]); },
        [](Full &f) { f.p.externs[0].kind = ExternSite::Assert; },
        [](Full &f) { f.p.externs[0].text += "."; },
        [](Full &f) { f.p.externs[0].fn = 1; },
        [](Full &f) { f.p.externs[0].user = 1; },
        [](Full &f) { f.p.externs[0].mask = 1; },
        [](Full &f) { f.p.externs[0].inputs[0] = 1; },
        [](Full &f) { f.p.externs[0].in_types[0] = Type::I32; },
        [](Full &f) { f.p.externs[0].out_types = { Type::I32 }; },
        [](Full &f) { f.p.args[0].kind = ArgKind::Scalar; },
        [](Full &f) { f.p.args[0].type = Type::I32; },
        [](Full &f) { f.p.args[0].small = 0; },
    };
    std::vector<std::string> seen = { Full().p.serialize() };
    for (const Change &change : changes) {
        Full f;
        change(f);
        seen.push_back(f.p.serialize());
    }
    for (size_t a = 0; a < seen.size(); ++a)
        for (size_t b = 0; b < a; ++b)
            EXPECT_NE(seen[a], seen[b]) << "changes " << a << " and " << b;
}

TEST(Program, ValuesMovedBetweenArraysChangeTheBytes) {
    Full a, b;
    a.p.calls[0].callees = { 1 };
    a.p.calls[0].args = { 2, 3 };
    b.p.calls[0].callees = { 1, 2 };
    b.p.calls[0].args = { 3 };
    EXPECT_NE(a.p.serialize(), b.p.serialize());
}

TEST(Program, CountsInstructionsOfAllFunctions) {
    Full f;
    EXPECT_EQ(f.p.instruction_count(), f.p.functions[0].insts.size() + 3 + 1);
    EXPECT_EQ(Program().instruction_count(), 0u);
}

// ---- Text and drawing

TEST(Program, TextShowsOneLinePerInstruction) {
    EXPECT_EQ(straight_line().text(), "arg 0: input f32\n"
                                      "arg 1: scalar f32\n"
                                      "arg 2: output f32\n"
                                      "kernel:\n"
                                      "    %0 = LoadLane f32 arg 0\n"
                                      "    %1 = LoadScalar uniform f32 arg 1\n"
                                      "    %2 = Literal uniform f32 2.5\n"
                                      "    %3 = Fma f32 %0, %1, %2\n"
                                      "    StoreLane %3, arg 2\n");
}

TEST(Program, TextIndentsRegionsAndShowsSites) {
    std::string text = Full().p.text();
    for (const char *line : {
             "    LoopBegin\n        %9 = Phi f32 %0, next %27\n",
             "\n        %10 = Phi f32[8] %7, next %13\n",
             "\n        LoopWhile %11\n",
             "\n        IfBegin %14\n            %16 = Sin f32 %9\n        Else\n",
             "\n            LoopEnd\n",
             "\n        EndIf\n        %26 = Merge f32 %14, %16, %24\n",
             "\n    LoopEnd\n    %29 = ArrayGet f32 %10, %2, %3\n",
             " = Packet f32 %1, %2, %3, x4\n",
             "\n    Scatter %1, %2, %31, %3, add\n",
             " = Call %2, %3, site 0 of {1, 2} (%9) -> (f32), table 3, data 4\n",
             " = Extern site 0 print \"x = \\\"{}\\\" <&>\\n\", mask %3, (%0) -> ()\n",
             "function 1 (f32), 8 bytes of data:\n    %0 = Data f32 +4\n",
             "\n    return (%2)\n",
         })
        EXPECT_NE(text.find(line), std::string::npos) << line << "is missing in\n" << text;
}

TEST(Program, TextShowsLiteralsAsValues) {
    Program p;
    p.functions.resize(1);
    Builder b{ p.functions[0] };
    b.add(Op::Literal, Type::I8, {}, 0xff);
    b.add(Op::Literal, Type::I32, {}, 0xfffffffe);
    b.add(Op::Literal, Type::U64, {}, ~0ull);
    b.add(Op::Literal, Type::F16, {}, 0xc100);
    b.add(Op::Literal, Type::F16, {}, 0x0001);
    b.add(Op::Literal, Type::F64, {}, std::bit_cast<uint64_t>(0.1));
    b.add(Op::Literal, Type::F32, {}, 0x7fc00001);
    b.add(Op::Literal, Type::Bool, {}, 1);
    b.add(Op::Literal, Type::Ptr, {}, 0);
    EXPECT_EQ(p.text(), "kernel:\n"
                        "    %0 = Literal i8 -1\n"
                        "    %1 = Literal i32 -2\n"
                        "    %2 = Literal u64 18446744073709551615\n"
                        "    %3 = Literal f16 -2.5\n"
                        "    %4 = Literal f16 5.9604645e-08\n"
                        "    %5 = Literal f64 0.1\n"
                        "    %6 = Literal f32 nan(0x7fc00001)\n"
                        "    %7 = Literal bool true\n"
                        "    %8 = Literal ptr 0x0\n");
}

TEST(Program, MalformedProgramsCanBePrintedAndDrawn) {
    Program p;
    p.functions.resize(1);
    Builder b{ p.functions[0] };
    b.add(Op(999), Type(77), { 5, 6, 7, 8 });
    b.mark(Op::EndIf);
    b.mark(Op::LoopEnd);
    b.mark(Op::Else);
    b.mark(Op::LoopBegin);
    b.add(Op::Call, Type::Void, {}, 12);
    b.add(Op::Extern, Type::Void, {}, 12);
    b.add(Op::Scatter, Type::Void, {}, 99);
    EXPECT_NE(p.text().find("%0 = op(999) type(77) %5, %6, %7, %8\n"), std::string::npos);
    EXPECT_FALSE(p.dot().empty());
    EXPECT_THROW(verify(p), InternalError);
}

TEST(Program, DrawingIsBalancedAndEscaped) {
    std::string dot = Full().p.dot();
    std::ptrdiff_t open = 0;
    bool in_label = false;
    for (char c : dot) {
        in_label ^= c == '"';
        open += in_label ? 0 : (c == '{') - (c == '}');
        EXPECT_GE(open, 0);
    }
    EXPECT_EQ(open, 0);
    EXPECT_FALSE(in_label);
    for (const char *part :
         { "label=\"kernel\"", "label=\"function 2\"", "label=\"loop\"", "label=\"then\"",
           "label=\"else\"", "f0_1 -> f0_30;", "f0_27 -> f0_9 [style=dashed",
           "&quot;x = \\\\&quot;{}\\\\&quot; &lt;&amp;&gt;\\\\n&quot;", "-> f2 [style=bold]" })
        EXPECT_NE(dot.find(part), std::string::npos) << part << " is missing in\n" << dot;
}

// ---- Verification

TEST(Verify, AcceptsGoodPrograms) {
    EXPECT_NO_THROW(verify(straight_line()));
    Full full;
    EXPECT_NO_THROW(verify(full.p)) << full.p.text();
}

TEST(Verify, AcceptsPhisThatSwap) {
    Program p;
    p.functions.resize(1);
    Builder b{ p.functions[0] };
    uint32_t x = b.f32(1), y = b.f32(2), no = b.mask(false);
    b.mark(Op::LoopBegin);
    uint32_t first = b.add(Op::Phi, Type::F32, { x, 0 });
    uint32_t second = b.add(Op::Phi, Type::F32, { y, first });
    b.f.insts[first].arg[1] = second;
    b.mark(Op::LoopWhile, { no });
    b.mark(Op::LoopEnd);
    EXPECT_NO_THROW(verify(p));
}

TEST(Verify, AcceptsAMillionInstructionsAndDeepNesting) {
    Program p;
    p.functions.resize(1);
    Builder b{ p.functions[0] };
    uint32_t x = b.f32(1), m = b.mask(true);
    for (int i = 0; i < 1000000; ++i)
        x = b.add(Op::Add, Type::F32, { x, x });
    for (int i = 0; i < 100000; ++i)
        b.mark(Op::IfBegin, { m });
    for (int i = 0; i < 100000; ++i) {
        b.mark(Op::Else);
        b.mark(Op::EndIf);
    }
    EXPECT_NO_THROW(verify(p));
}

struct Bad {
    const char *complaint;
    std::function<void(Full &)> change;
};

TEST(Verify, RejectsWhatBreaksARule) {
    auto insert = [](Full &f, uint32_t at, Op op, Type type, std::vector<uint32_t> args,
                     uint64_t imm = 0) {
        // Cut off what follows: only the inserted instruction is to be wrong.
        f.p.functions[0].insts.resize(at);
        Builder{ f.p.functions[0] }.add(op, type, args, imm);
    };
    std::vector<Bad> bad = {
        // Structure
        { "does not end", [](Full &f) { f.p.functions[0].insts.resize(f.if_begin); } },
        { "the loop has no LoopWhile",
          [](Full &f) { f.inst(f.loop_while) = { .op = Op::Lane, .type = Type::U32 }; } },
        { "second LoopWhile",
          [=](Full &f) { insert(f, f.array_set, Op::LoopWhile, Type::Void, { f.cond }); } },
        { "outside of a loop or inside a branch",
          [=](Full &f) { insert(f, f.branch_value, Op::LoopWhile, Type::Void, { f.cond }); } },
        { "does not close a loop",
          [=](Full &f) { insert(f, f.branch_value, Op::LoopEnd, Type::Void, {}); } },
        { "Else does not follow",
          [=](Full &f) { insert(f, f.loop_begin, Op::Else, Type::Void, {}); } },
        { "EndIf does not close",
          [=](Full &f) { insert(f, f.branch_value, Op::EndIf, Type::Void, {}); } },
        { "a Phi follows LoopBegin",
          [=](Full &f) { insert(f, f.if_begin, Op::Phi, Type::F32, { f.x, f.x }); } },
        { "a Merge follows EndIf",
          [=](Full &f) {
              insert(f, f.next, Op::Lane, Type::U32, {});
              Builder{ f.p.functions[0] }.add(Op::Merge, Type::F32,
                                              { f.inst(f.merge).arg[0], f.x, f.x });
          } },
        { "the conditional's is", [](Full &f) { f.inst(f.merge).arg[0] = f.cond; } },
        // Visibility
        { "not defined before its use", [](Full &f) { f.inst(f.uniform_sum).arg[1] = f.next; } },
        { "not defined before its use", [](Full &f) { f.inst(f.next).arg[1] = f.next; } },
        { "is missing", [](Full &f) { f.inst(f.next).arg[1] = NoValue; } },
        { "inside a region", [](Full &f) { f.inst(f.next).arg[0] = f.branch_value; } },
        { "inside a region", [](Full &f) { f.inst(f.merge).arg[1] = f.other_value; } },
        { "inside a region", [](Full &f) { f.inst(f.merge).arg[2] = f.branch_value; } },
        { "inside a region", [](Full &f) { f.inst(f.other_value).arg[0] = f.inner + 2; } },
        { "inside a region", [](Full &f) { f.inst(f.store).arg[0] = f.next; } },
        { "inside a region", [](Full &f) { f.p.calls[0].args[0] = f.next; } },
        { "the initial value (%9) is made inside the loop",
          [](Full &f) {
              f.inst(f.phi + 1) = { .op = Op::Phi,
                                    .type = Type::F32,
                                    .arg = { f.phi, f.phi, NoValue, NoValue } };
          } },
        { "the next value (%16) was made inside a region",
          [](Full &f) { f.inst(f.phi).arg[1] = f.branch_value; } },
        { "the next value (%29) is not defined in the loop",
          [](Full &f) { f.inst(f.phi).arg[1] = f.array_get; } },
        { "the next value (none)", [](Full &f) { f.inst(f.phi).arg[1] = NoValue; } },
        // Types
        { "operand 1 (%2) is u32, must be f32", [](Full &f) { f.inst(f.next).arg[1] = f.index; } },
        { "the result is f32, must be an integer", [](Full &f) { f.inst(f.next).op = Op::Mod; } },
        { "the result is bool, must be a number",
          [](Full &f) { f.inst(f.next).type = Type::Bool; } },
        { "must be a number", [](Full &f) { f.inst(f.cond).arg[0] = f.yes; } },
        { "operand 1 (%2) is u32, must be f32", [](Full &f) { f.inst(f.cond).arg[1] = f.index; } },
        { "operand 0 (%9) is f32, must be bool",
          [](Full &f) { f.inst(f.loop_while).arg[0] = f.phi; } },
        { "must be bool", [](Full &f) { f.inst(f.scatter).arg[3] = f.index; } },
        { "must be u32", [](Full &f) { f.inst(f.scatter).arg[1] = f.x; } },
        { "must be ptr", [](Full &f) { f.inst(f.scatter).arg[0] = f.index; } },
        { "of another width",
          [=](Full &f) { insert(f, f.packet, Op::Bitcast, Type::F64, { f.x }); } },
        { "of another type or length", [](Full &f) { f.inst(f.phi).arg[0] = f.index; } },
        { "of another type or length", [](Full &f) { f.inst(f.phi).arg[1] = f.phi_array; } },
        { "which has no value", [](Full &f) { f.inst(f.store).arg[0] = f.call; } },
        { "must be Packet", [](Full &f) { f.inst(f.get).arg[0] = f.x; } },
        { "must be Call", [](Full &f) { f.inst(f.result).arg[0] = f.x; } },
        { "there is no such operation", [](Full &f) { f.inst(f.next).op = Op(OpCount); } },
        { "there is no such type", [](Full &f) { f.inst(f.next).type = Type(TypeCount); } },
        { "belongs to the graph",
          [=](Full &f) { insert(f, f.packet, Op::Buffer, Type::F32, {}); } },
        { "do not fit bool",
          [=](Full &f) { insert(f, f.packet, Op::Literal, Type::Bool, {}, 2); } },
        { "do not fit u8", [=](Full &f) { insert(f, f.packet, Op::Literal, Type::U8, {}, 256); } },
        { "operand 2 is set", [](Full &f) { f.inst(f.next).arg[2] = f.x; } },
        // Local arrays
        { "must be a local array", [](Full &f) { f.inst(f.array_get).arg[0] = f.x; } },
        { "has length 8, must have 0", [](Full &f) { f.inst(f.store).arg[0] = f.phi_array; } },
        { "has length 8, must have 4", [](Full &f) { f.inst(f.array_set).length = 4; } },
        { "cannot be a local array", [](Full &f) { f.inst(f.next).length = 8; } },
        // Uniform values
        { "but operand 0 (%26) is not", [](Full &f) { f.inst(f.next).uniform = 1; } },
        { "is never uniform", [](Full &f) { f.inst(f.index).uniform = 1; } },
        { "must be 0 or 1", [](Full &f) { f.inst(f.uniform_sum).uniform = 2; } },
        // Memory and arguments
        { "element 4 of a packet of 4", [](Full &f) { f.inst(f.get).imm = 4; } },
        { "there is no reduction", [](Full &f) { f.inst(f.scatter).imm = 7; } },
        { "cannot be reduced by and",
          [](Full &f) { f.inst(f.scatter).imm = uint64_t(ReduceOp::And); } },
        { "there is no argument 9", [](Full &f) { f.inst(f.store).imm = 9; } },
        { "of another kind", [](Full &f) { f.inst(f.store).imm = 0; } },
        { "argument 0 is f64, not f32", [](Full &f) { f.p.args[0].type = Type::F64; } },
        { "only by the kernel",
          [=](Full &f) { insert(f, f.if_begin, Op::StoreLane, Type::Void, { f.phi }, 2); } },
        // Calls
        { "there is no call site", [](Full &f) { f.inst(f.call).imm = 1; } },
        { "cannot be called", [](Full &f) { f.p.calls[0].callees[0] = 0; } },
        { "cannot be called", [](Full &f) { f.p.calls[0].callees[0] = 3; } },
        { "takes 1 arguments, not 0", [](Full &f) { f.p.calls[0].args.clear(); } },
        { "argument 0 of function 1 (%2) is u32", [](Full &f) { f.p.calls[0].args[0] = f.index; } },
        { "is a local array", [](Full &f) { f.p.calls[0].args[0] = f.phi_array; } },
        { "has 1 outputs, not 2", [](Full &f) { f.p.calls[0].out_types.push_back(Type::F32); } },
        { "is not u32", [](Full &f) { f.p.calls[0].out_types[0] = Type::U32; } },
        { "result 1 of 1", [](Full &f) { f.inst(f.result).imm = 1; } },
        { "is not a call table", [](Full &f) { f.p.calls[0].table = 0; } },
        { "does not hold call data", [](Full &f) { f.p.calls[0].data = 3; } },
        { "there is no parameter", [](Full &f) { f.p.functions[2].insts[0].imm = 1; } },
        { "outside the record of 8 bytes", [](Full &f) { f.p.functions[1].insts[0].imm = 5; } },
        { "output 0 (%7) is not defined", [](Full &f) { f.p.functions[2].outputs[0] = 7; } },
        { "neither parameters nor outputs", [](Full &f) { f.p.functions[0].outputs = { 0 }; } },
        { "form a cycle",
          [](Full &f) {
              Builder b{ f.p.functions[2] };
              uint32_t id = b.u32(1), m = b.mask(true);
              b.add(Op::Call, Type::Void, { id, m }, 1);
              f.p.calls.push_back({ .callees = { 2 },
                                    .args = { 0 },
                                    .out_types = { Type::F32 },
                                    .table = 3,
                                    .data = 4 });
          } },
        // Host functions
        { "there is no host function site", [](Full &f) { f.inst(f.print).imm = 5; } },
        { "the mask is missing", [](Full &f) { f.p.externs[0].mask = NoValue; } },
        { "the mask (%2) is u32", [](Full &f) { f.p.externs[0].mask = f.index; } },
        { "input 0 (%0) is f32, must be i32",
          [](Full &f) { f.p.externs[0].in_types[0] = Type::I32; } },
        { "the function is missing", [](Full &f) { f.p.externs[0].kind = ExternSite::Function; } },
        { "is its condition", [](Full &f) { f.p.externs[0].kind = ExternSite::Assert; } },
        { "has no outputs", [](Full &f) { f.p.externs[0].out_types = { Type::F32 }; } },
        { "no functions", [](Full &f) { f.p.functions.clear(); } },
    };
    for (const Bad &b : bad) {
        Full f;
        b.change(f);
        try {
            verify(f.p);
            ADD_FAILURE() << "accepted, though: " << b.complaint << "\n" << f.p.text();
        } catch (const InternalError &e) {
            EXPECT_NE(std::string(e.what()).find(b.complaint), std::string::npos)
                << "expected: " << b.complaint << "\ngot:      " << e.what();
        }
    }
}

TEST(Verify, ComplaintsShowFunctionNumberAndLine) {
    Full f;
    f.inst(f.next).arg[1] = f.index;
    try {
        verify(f.p);
        FAIL();
    } catch (const InternalError &e) {
        EXPECT_STREQ(e.what(), "function 0, instruction 27: %27 = Add f32 %26, %2: operand 1 (%2) "
                               "is u32, must be f32");
    }
}

} // namespace
} // namespace umbel::jit
