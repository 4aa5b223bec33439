/** Does one piece of work after the other, whatever becomes of each. Throws the first error once all are done. */
export async function eachInTurn(works: (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = []
  for (const work of works) await work().catch((error: unknown) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}
