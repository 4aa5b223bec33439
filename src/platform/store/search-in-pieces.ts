/** Keys of a list from `first` (inclusive) to `end` (exclusive). */
export interface Span<Key> {
  first: Key
  end: Key
}

/** The parts of a search; `Key` is what the list is sorted by. */
export interface Pieces<R, Key> {
  /** True for ascending order. */
  isUpward: boolean
  /** How many rows are wanted. */
  rows: number
  /** The boundary of a piece with this many entries, at the end where the search begins; undefined if the range has fewer. */
  edgeOf(span: Span<Key>, entries: number): Promise<Key | undefined>
  /** The matching rows of a piece in order, at most as many as wanted. */
  look(span: Span<Key>): Promise<R[]>
}

/** How a search proceeds. */
export interface SearchSizes {
  /** Up to this many candidates are checked one by one, instead of walking the list. */
  few: number
  /** Entries of the first piece of the list, which usually contains enough matches. No piece is smaller. */
  piece: number
  /** When to stop, at the end of a piece; without it the search ends only with the list. */
  maxMs?: number
}

export const standardSizes: SearchSizes = { few: 1_000, piece: 2_000 }

export interface Searched<R, Key> {
  rows: R[]
  /** What is left of the range where the search stopped because its time was over; null if it went as far as it had to. */
  rest: Span<Key> | null
}

/** How long a piece should take, ms; the busier the others are, the smaller the pieces get. */
const pieceMs = 20

/**
 * Searches the list piece by piece until enough rows are found, or for about `maxMs`. Between two pieces others get their turn, however
 * rare the matches are.
 */
export async function searchInPieces<R, Key>(
  span: Span<Key>,
  { isUpward, rows, edgeOf, look }: Pieces<R, Key>,
  { piece: smallest, maxMs = Infinity }: SearchSizes,
): Promise<Searched<R, Key>> {
  const found: R[] = []
  const begun = performance.now()
  let rest = span
  for (let entries = smallest; ;) {
    const start = performance.now()
    const edge = await edgeOf(rest, entries)
    const piece = edge === undefined ? rest : isUpward ? { ...rest, end: edge } : { ...rest, first: edge }
    found.push(...(await look(piece)))
    if (edge === undefined || found.length >= rows) return { rows: found.slice(0, rows), rest: null }
    rest = isUpward ? { ...rest, first: edge } : { ...rest, end: edge }
    const now = performance.now()
    if (now - begun >= maxMs) return { rows: found, rest }
    const faster = pieceMs / (now - start)
    entries = Math.max(smallest, Math.ceil(entries * Math.min(4, Math.max(1 / 4, faster))))
  }
}
