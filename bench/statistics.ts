/** The value below which a share of the values lies; 0 where there are none. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
}

/** The middle one: on a machine that others use, a mean belongs to its worst moment. */
export function median(values: readonly number[]): number {
  return percentile(values.toSorted(ascending), 0.5);
}

export function ascending(left: number, right: number): number {
  return left - right;
}

/** The slope of the straight line through points at 0, 1, 2, … that fits best (least squares). */
export function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let covariance = 0;
  let variance = 0;
  for (const [index, value] of values.entries()) {
    covariance += (index - middle) * (value - mean);
    variance += (index - middle) ** 2;
  }
  return covariance / variance;
}
