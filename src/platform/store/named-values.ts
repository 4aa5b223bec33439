import type { Value } from './database.ts'

/** Values for `in (…)`: the names of their parameters, and their values by name. The text of a statement depends on their number. */
export const namedValues = (prefix: string, values: readonly Value[]): { names: string; params: Record<string, Value> } => ({
  names: values.map((_, place) => `:${prefix}${place}`).join(', '),
  params: Object.fromEntries(values.map((value, place) => [`${prefix}${place}`, value])),
})
