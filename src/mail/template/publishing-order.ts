/** A template, and the names (aliases or ids) of the layout and partials that it uses. */
interface Using<T> {
  item: T
  names: readonly (string | null)[]
  uses: readonly (string | null)[]
}

/** Layouts and partials before the templates that use them; otherwise in the order given. */
export function publishingOrder<T>(all: readonly Using<T>[]): T[] {
  const ordered = new Set<T>()
  const begun = new Set<T>()
  const byName = new Map(all.flatMap((one) => one.names.flatMap((name) => (name === null ? [] : [[name, one] as const]))))
  const add = (one: Using<T>): void => {
    if (begun.has(one.item)) return
    begun.add(one.item)
    for (const used of one.uses) {
      const other = used === null ? undefined : byName.get(used)
      if (other) add(other)
    }
    ordered.add(one.item)
  }
  for (const one of all) add(one)
  return [...ordered]
}
