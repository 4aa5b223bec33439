/** Keys of a list from `first` on, up to but without `end`. */
export interface Span<Key> {
  first: Key
  end: Key
}

/** What a search is made of; `Key` is what the list is sorted by. */
export interface Pieces<R, Key> {
  /** True where the rows are to come in ascending order. */
  isUpward: boolean
  /** How many rows are wanted. */
  rows: number
  /** The edge of a piece of so many entries at the end where the search begins; undefined where the span has fewer. */
  edgeOf(span: Span<Key>, entries: number): Promise<Key | undefined>
  /** The rows of a piece in order, at most as many as wanted. */
  look(span: Span<Key>): Promise<R[]>
}

/** How a search goes about it. */
export interface SearchSizes {
  /** So many candidates are looked at one by one, rather than going through the list. */
  few: number
  /** Entries of the first piece of the list, in which most of what is looked for is found. No piece is smaller. */
  piece: number
}

export const standardSizes: SearchSizes = { few: 1_000, piece: 2_000 }

/** What a piece is to take, ms; the busier others are, the smaller it gets. */
const pieceMs = 20

/**
 * Looks for rows a piece of the list at a time, until enough are found: between two pieces others get their turn, however rare is
 * what is looked for.
 */
export async function searchInPieces<R, Key>(
  span: Span<Key>,
  { isUpward, rows, edgeOf, look }: Pieces<R, Key>,
  { piece: smallest }: SearchSizes,
): Promise<R[]> {
  const found: R[] = []
  let rest = span
  for (let entries = smallest; ;) {
    const start = performance.now()
    const edge = await edgeOf(rest, entries)
    const piece = edge === undefined ? rest : isUpward ? { ...rest, end: edge } : { ...rest, first: edge }
    found.push(...(await look(piece)))
    if (edge === undefined || found.length >= rows) return found.slice(0, rows)
    rest = isUpward ? { ...rest, first: edge } : { ...rest, end: edge }
    const faster = pieceMs / (performance.now() - start)
    entries = Math.max(smallest, Math.ceil(entries * Math.min(4, Math.max(1 / 4, faster))))
  }
}
