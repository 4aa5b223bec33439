const ends: (() => Promise<void>)[] = []

/** For what the tests of a file share though not all of them need it: made by the first that does, it ends after the last. */
export const onFileFinished = (end: () => Promise<void>): void => void ends.push(end)

/** Called after the last test of each file. */
export async function finishFile(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end()
}
