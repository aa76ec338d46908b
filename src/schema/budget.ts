/**
 * What one check may still cost, in steps. Compiled validators and patterns spend it as they run, so that no
 * mix of a foreign schema and a foreign value holds the engine up (1.5, 2.3).
 */
export interface Budget {
  left: number;
}

/** Thrown through a compiled validator, which knows no other way to stop, and caught where it was called. */
export const BUDGET_SPENT = new Error('the budget of this check is spent');

export function spend(budget: Budget, steps: number): void {
  budget.left -= steps;
  if (budget.left < 0) throw BUDGET_SPENT;
}

/**
 * Runs a check within a budget. `spent` where it ran out of steps, or of stack: a schema whose references
 * nest deep may need more of that than there is.
 */
export function within<Result>(budget: Budget, steps: number, check: () => Result): Result | 'spent' {
  budget.left = steps;
  try {
    return check();
  } catch (error) {
    if (error === BUDGET_SPENT || error instanceof RangeError) return 'spent';
    throw error;
  }
}
