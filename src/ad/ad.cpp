// ad/ad.cpp: the public functions of differentiation.
#include "ad/ad.h"
#include "ad/tracker.h"
#include <algorithm>
#include <exception>

namespace umbel::ad {

using namespace jit;

namespace {

AdTracker &tracker_of(const Value &v) { return AdTracker::of(v.context()); }
Tape &tape_of(const Value &v) { return tracker_of(v).tape; }

void need(const char *what, const Value &v) {
    if (!v.valid())
        fail("{}: the operand is an uninitialized value", what);
    if (!is_float(v.type()))
        fail("{}: only float values have derivatives, not {}", what, name(v.type()));
}

// What a body computes is on the tape only when the construct as a whole is differentiated.
void need_tape(const char *what, const Value &v) {
    if (v.grad_id() && tape_of(v).node(v.grad_id()).mark)
        throw InsideBody(fmt::format(
            "{}: inside a recorded body that is differentiated as a whole; to take derivatives "
            "inside, put SuspendGrad around the construct and ResumeGrad into its body",
            what));
}

void need_grad(const char *what, const Value &v) {
    need(what, v);
    if (!v.grad_id())
        fail("{}: the value does not depend on anything that gradients are enabled for", what);
    need_tape(what, v);
}

void check_gradient(const char *what, const Value &v, const Value &g) {
    if (!g.valid())
        fail("{}: the gradient is an uninitialized value", what);
    if (g.type() != v.type())
        fail("{}: a gradient of type {} for a value of type {}", what, name(g.type()),
             name(v.type()));
    if (g.size() != v.size() && g.size() != 1 && v.size() != 1)
        fail("{}: attempted to store a gradient of size {} into AD variable g{}, which has size {}",
             what, g.size(), v.grad_id(), v.size());
}

// A gradient for each lane of v: one number is that of every lane, or operands of size 1 would get it once. In
// evaluated control flow, lanes that are not active take no part.
Value for_lanes(const Value &v, const Value &gradient) {
    Value g = gradient.detached();
    if (g.size() == 1 && v.size() != 1)
        g = g.is_literal() ? literal(g.type(), g.literal_bits(), v.size())
                           : binary(Op::Add, g, literal(g.type(), 0, v.size()));
    Context &c = g.context();
    if (c.masks.empty())
        return g;
    return ternary(Op::Select, Value::share(c, c.masks.back()), g, literal(g.type(), 0));
}

} // namespace

Tape &tape() { return AdTracker::of(Context::current()).tape; }

void enable_grad(Value &v, std::string label, std::source_location where) {
    need("enable_grad", v);
    if (v.grad_id())
        return;
    Tape &t = tape_of(v);
    if (tracker_of(v).tracing_body())
        throw InsideBody(
            "enable_grad: inside a recorded body that is differentiated as a whole; put "
            "SuspendGrad around the construct and ResumeGrad into its body");
    if (v.is_literal() &&
        v.context().region == 0) // a variable must not look like any other constant
        v = opaque(v);
    v = Value::attach(std::move(v), t.make_node(v.type(), v.size(), v.context().region != 0,
                                                fmt::format("{}{}enabled at {}:{}", label,
                                                            label.empty() ? "" : ", ",
                                                            where.file_name(), where.line())));
}

void disable_grad(Value &v) { v = detach(v); }

bool grad_enabled(const Value &v) { return v.grad_id() != 0; }

Value grad(const Value &v) {
    need("grad", v);
    need_tape("grad", v);
    Value zero = literal(v.type(), 0, v.size());
    if (!v.grad_id())
        return zero;
    Value g = tape_of(v).node(v.grad_id()).grad;
    if (!g.valid())
        return zero;
    if (v.size() == 1 && g.size() != 1)
        g = reduce(ReduceOp::Add, g);
    if (g.node().length)
        return g;
    return tracker_of(v).higher.as_number(g.size() == v.size() ? g : binary(Op::Add, g, zero));
}

void set_grad(Value &v, const Value &g) {
    need_grad("set_grad", v);
    check_gradient("set_grad", v, g);
    tape_of(v).set_grad(v.grad_id(), for_lanes(v, g));
}

void accumulate_grad(Value &v, const Value &g) {
    need_grad("accumulate_grad", v);
    check_gradient("accumulate_grad", v, g);
    tape_of(v).accumulate(v.grad_id(), for_lanes(v, g));
}

void clear_grad(Value &v) {
    if (v.grad_id())
        tape_of(v).set_grad(v.grad_id(), Value());
}

Value detach(const Value &v) {
    if (!v.valid() || !v.context().tracker)
        return v.detached();
    if (!tracker_of(v).tracing_body()) {
        if (!v.grad_id())
            tracker_of(v).higher.note_constant(v);
        return v.detached();
    }
    tracker_of(v).note_asked();
    return v.grad_id() ? barrier(v) : v.detached();
}

Value replace_grad(const Value &a, const Value &b) {
    need("replace_grad", a);
    need("replace_grad", b);
    if (a.type() != b.type())
        fail("replace_grad: types {} and {} differ", name(a.type()), name(b.type()));
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1)
        fail("replace_grad: sizes {} and {} do not match", a.size(), b.size());
    Value v = detach(a);
    if (v.size() != b.size() && v.size() == 1)
        v = binary(Op::Add, v, literal(v.type(), 0, b.size()));
    if (!b.grad_id())
        return v;
    if (tracker_of(b).tracing_body()) // in terms of operations, for the replay
        return binary(Op::Add, v, binary(Op::Sub, b, detach(b)));
    Tape &t = tape_of(b);
    t.retain(b.grad_id());
    return Value::attach(std::move(v), b.grad_id());
}

// ---- traversal

void enqueue(Mode mode, const Value &v) {
    need_grad("enqueue", v);
    tape_of(v).enqueue(mode, v.grad_id());
    if (mode == Mode::Backward)
        tracker_of(v).higher.refuse_dropped(tape_of(v), v);
}

void traverse(Mode mode, uint32_t clear) { tape().traverse(mode, clear); }

static Value ones_like(const Value &v) { return cast(v.type(), literal(Type::Bool, 1, v.size())); }

void backward(Value &y, uint32_t clear) {
    need_grad("backward", y);
    set_grad(y, ones_like(y));
    backward_from(y, clear);
}

void backward_from(Value &y, uint32_t clear) {
    need_grad("backward_from", y);
    Tape &t = tape_of(y);
    t.enqueue(Mode::Backward, y.grad_id());
    tracker_of(y).higher.refuse_dropped(t, y);
    t.traverse(Mode::Backward, clear);
}

Value backward_to(const Value &x, uint32_t clear) {
    need_grad("backward_to", x);
    Tape &t = tape_of(x);
    t.enqueue(Mode::Forward, x.grad_id());
    t.traverse(Mode::Backward, clear);
    return grad(x);
}

void forward(Value &x, uint32_t clear) {
    need_grad("forward", x);
    set_grad(x, ones_like(x));
    forward_from(x, clear);
}

void forward_from(Value &x, uint32_t clear) {
    need_grad("forward_from", x);
    Tape &t = tape_of(x);
    t.enqueue(Mode::Forward, x.grad_id());
    t.traverse(Mode::Forward, clear);
}

Value forward_to(const Value &y, uint32_t clear) {
    need_grad("forward_to", y);
    Tape &t = tape_of(y);
    t.enqueue(Mode::Backward, y.grad_id());
    tracker_of(y).higher.refuse_dropped(t, y);
    t.traverse(Mode::Forward, clear);
    return grad(y);
}

// ---- scopes

void SuspendGrad::enter(std::initializer_list<const Value *> values, bool suspend) {
    Tape &t = tape();
    AdTracker::of(Context::current()).note_asked();
    ScopeState s = t.scopes().back();
    s.isolate = false;
    s.postponed.clear();
    std::vector<GradId> ids;
    for (const Value *v : values)
        if (v->grad_id())
            ids.push_back(v->grad_id());
    std::sort(ids.begin(), ids.end());
    if (values.size() == 0) {
        s.complement = !suspend;
        s.ids.clear();
    } else if (s.complement == suspend) { // the listed ones are an exception from now on
        std::vector<GradId> all;
        std::set_union(s.ids.begin(), s.ids.end(), ids.begin(), ids.end(), std::back_inserter(all));
        s.ids = std::move(all);
    } else {
        std::vector<GradId> rest;
        std::set_difference(s.ids.begin(), s.ids.end(), ids.begin(), ids.end(),
                            std::back_inserter(rest));
        s.ids = std::move(rest);
    }
    t.scopes().push_back(std::move(s));
}

SuspendGrad::~SuspendGrad() { tape().scopes().pop_back(); }

IsolateGrad::IsolateGrad() : m_exceptions(std::uncaught_exceptions()) {
    Tape &t = tape();
    ScopeState s = t.scopes().back();
    s.isolate = true;
    s.boundary = t.sequence();
    s.postponed.clear();
    t.scopes().push_back(std::move(s));
}

IsolateGrad::~IsolateGrad() noexcept(false) { end(std::uncaught_exceptions() > m_exceptions); }

void IsolateGrad::end(bool is_given_up) {
    if (!std::exchange(m_has_ended, true))
        tape().leave_isolation(is_given_up);
}

FiniteSums::FiniteSums(Tape::NoteLanes note)
    : m_before(std::exchange(tape().left_out, { note, jit::copy(std::vector<uint32_t>{ 0 }) })) {}

void FiniteSums::tell() {
    Tape::LeftOut &l = tape().left_out;
    if (std::exchange(l.is_written, false))
        l.note(binary(Op::Ne, gather(l.in_bodies, literal(Type::U32, 0), literal(Type::Bool, 1)),
                      literal(Type::U32, 0)));
}

std::string listing() { return tape().listing(); }
std::string dot() { return tape().dot(); }
size_t live_nodes() { return tape().live(); }

} // namespace umbel::ad
