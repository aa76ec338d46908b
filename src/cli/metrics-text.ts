/** A number of a series, as Prometheus' text format has it. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of a page; what is no sample is passed over. */
export function readSamples(page: string): Sample[] {
  return page.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === undefined || value === undefined) return [];
    return [
      {
        name,
        labels: readLabels(labels),
        value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value),
      },
    ];
  });
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = Object.create(null);
  for (const [, name = '', value = ''] of text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
  }
  return labels;
}

/** The sum of all samples of a name whose labels have these values. */
export function sumOf(samples: readonly Sample[], name: string, labels: Sample['labels'] = {}): number {
  const wanted = Object.entries(labels);
  let sum = 0;
  for (const sample of samples) {
    if (sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value))
      sum += sample.value;
  }
  return sum;
}

/**
 * The value below which a share of what a histogram has counted between two pages lies, taken within its bucket as
 * evenly spread; undefined where it has counted nothing.
 *
 * @param share from 0 to 1
 */
export function quantile(
  [before, after]: readonly [readonly Sample[], readonly Sample[]],
  name: string,
  labels: Sample['labels'],
  share: number,
): number | undefined {
  const bounds = new Set<string>();
  for (const sample of after) if (sample.name === `${name}_bucket`) bounds.add(sample.labels['le'] ?? '');
  const buckets = [...bounds]
    .map((le) => {
      const of = { ...labels, le };
      const count = sumOf(after, `${name}_bucket`, of) - sumOf(before, `${name}_bucket`, of);
      return { bound: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), count };
    })
    .toSorted((a, b) => a.bound - b.bound);
  const total = buckets.at(-1)?.count ?? 0;
  if (total <= 0) return undefined;
  const rank = share * total;
  let [lower, below] = [0, 0];
  for (const { bound, count } of buckets) {
    if (count >= rank) {
      // Nothing is known of what lies above the last bound.
      if (!Number.isFinite(bound)) return lower;
      return count === below ? bound : lower + (bound - lower) * ((rank - below) / (count - below));
    }
    [lower, below] = [bound, count];
  }
  return lower;
}
