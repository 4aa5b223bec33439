const cr = 13
const lf = 10
/** bytes */
const pieceSize = 64 * 1024

/** The text in pieces, an LF without CR before it as CRLF: mail libraries that write files leave it at that. */
export function* withCrlf(text: Buffer): Generator<Buffer> {
  for (let start = 0; start < text.length; start += pieceSize) {
    const piece = text.subarray(start, start + pieceSize)
    const bare = bareLineFeeds(piece, start > 0 && text[start - 1] === cr)
    if (bare.length === 0) {
      yield piece
      continue
    }
    const changed = Buffer.alloc(piece.length + bare.length)
    let from = 0
    let to = 0
    for (const at of bare) {
      to += piece.copy(changed, to, from, at)
      changed[to++] = cr
      from = at
    }
    piece.copy(changed, to, from)
    yield changed
  }
}

function bareLineFeeds(piece: Buffer, isAfterCr: boolean): number[] {
  const found: number[] = []
  for (let at = piece.indexOf(lf); at !== -1; at = piece.indexOf(lf, at + 1)) {
    if (at === 0 ? !isAfterCr : piece[at - 1] !== cr) found.push(at)
  }
  return found
}
