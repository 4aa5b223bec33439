/** A label and all values it may have: what a client or a stranger says never becomes a value. */
export type Label = readonly [name: string, values: readonly string[]]

export interface MetricDeclaration<
  Kind extends 'counter' | 'gauge' | 'histogram' = 'counter' | 'gauge' | 'histogram',
  Labels extends readonly Label[] = readonly Label[],
> {
  kind: Kind
  /** The Prometheus name: a counter ends in `_total`, preceded by the unit, seconds or bytes. */
  name: string
  help: string
  labels: Labels
  /** Upper bounds of a histogram's buckets, ascending, without infinity. */
  bounds: readonly number[]
}

export const counter = <const Labels extends readonly Label[] = []>(
  name: string,
  help: string,
  labels?: Labels,
): MetricDeclaration<'counter', Labels> => ({
  kind: 'counter',
  name,
  help,
  labels: labels ?? ([] as unknown as Labels),
  bounds: [],
})

export const gauge = <const Labels extends readonly Label[] = []>(
  name: string,
  help: string,
  labels?: Labels,
): MetricDeclaration<'gauge', Labels> => ({
  kind: 'gauge',
  name,
  help,
  labels: labels ?? ([] as unknown as Labels),
  bounds: [],
})

export const histogram = <const Labels extends readonly Label[] = []>(
  name: string,
  help: string,
  bounds: readonly number[],
  labels?: Labels,
): MetricDeclaration<'histogram', Labels> => ({ kind: 'histogram', name, help, labels: labels ?? ([] as unknown as Labels), bounds })
