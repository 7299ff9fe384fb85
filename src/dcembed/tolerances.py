"""Every fixed tolerance of the package, in one place. What a user may want to change is in `dcembed.Options`."""

# A quadratic counts as convex if Q + this * max|Q| * I has a Cholesky factor: rounding in Q = G'G is far below it.
CONVEXITY_TOL = 1e-9

# Completion is tried on a candidate whose violation is at most this many times the feasibility tolerance, or where it can
# repair what is wrong by construction (linked outputs, decisions behind indicators).
COMPLETION_REACH = 1e3

# A run without feasible point has stalled when two steps at the largest penalty change the merit by less than
# the objective tolerance; a run with a feasible point when two consecutive feasible objectives do (section 4.1 of the paper).
STALLED_STEPS = 2

# Consecutive subproblems that a solver may fail before the run from this start ends.
MAX_SOLVER_FAILURES = 3

# A feasible point is a new incumbent only if it improves the objective by more than this, relative to max(1, |F|): rounding is no progress.
IMPROVEMENT_TOL = 1e-12

# A unit whose pre-activation is this close to zero is at its kink: solutions of linear programs lie on kinks up to rounding.
KINK_TOL = 1e-7

# A feasible point whose violation is at most this is counted as it is: what an objective could owe to it is rounding.
SETTLED_TOL = 1e-11

# A column without bounds is taken to stay within this where a bound on the optimum hangs on it through rounding alone.
FARTHEST = 1e7
