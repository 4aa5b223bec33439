/** A label with all its possible values. Nothing that a client or stranger says becomes a value. */
export type Label = readonly [name: string, values: readonly string[]]

export interface MetricDeclaration<
  Kind extends 'counter' | 'gauge' | 'histogram' = 'counter' | 'gauge' | 'histogram',
  Labels extends readonly Label[] = readonly Label[],
> {
  kind: Kind
  /** The Prometheus name. A counter ends in `_total`, preceded by its unit, seconds or bytes. */
  name: string
  help: string
  labels: Labels
  /** Upper bounds of a histogram's buckets in ascending order, without infinity. */
  bounds: readonly number[]
}

const plain =
  <Kind extends 'counter' | 'gauge'>(kind: Kind) =>
  <const Labels extends readonly Label[] = []>(name: string, help: string, labels?: Labels): MetricDeclaration<Kind, Labels> => ({
    kind,
    name,
    help,
    labels: labels ?? ([] as unknown as Labels),
    bounds: [],
  })

export const counter = plain('counter')
export const gauge = plain('gauge')

/** Of rows that all nodes read. */
export const gaugeOfAll = <const Labels extends readonly Label[] = []>(name: string, help: string, labels?: Labels) =>
  gauge(name, `${help} Every node counts that of all: take the maximum over nodes, not the sum.`, labels)

export const histogram = <const Labels extends readonly Label[] = []>(
  name: string,
  help: string,
  bounds: readonly number[],
  labels?: Labels,
): MetricDeclaration<'histogram', Labels> => ({ kind: 'histogram', name, help, labels: labels ?? ([] as unknown as Labels), bounds })
