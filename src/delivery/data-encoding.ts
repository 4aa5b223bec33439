/** bytes looked at as one string */
const sliceSize = 1024 * 1024
/** bytes handed to the socket at once */
const blockSize = 256 * 1024
const carriageReturn = 13
const dot = 46
// Systems that take a bare CR or LF for a line end, or drop NUL, could see an end of data where there is none.
const unclean = /\r(?!\n)|(?<!\r)\n|\0/
const dotLine = Buffer.from('\r\n.')
const lineEnd = Buffer.from('\r\n')
const oneDot = Buffer.from('.')
const end = Buffer.from('.\r\n')
const endAfterLine = Buffer.from('\r\n.\r\n')

/** A view of the same bytes. */
const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** True where every CR stands before a LF, every LF behind a CR, and there is no NUL (RFC 5321 2.3.8). */
export function isCleanContent(content: Uint8Array): boolean {
  const bytes = bufferOf(content)
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(from + sliceSize, bytes.length)
    if (to < bytes.length && bytes[to - 1] === carriageReturn) to++
    if (unclean.test(bytes.toString('latin1', from, to))) return false
    from = to
  }
  return true
}

/**
 * The bytes that follow the 354 reply, in blocks of views that are each written at once: lines that begin with a dot
 * get another (RFC 5321 4.5.2), and the lone dot ends them. Nothing else changes, nothing is copied.
 * @param header whole header fields to stand before the content
 */
export function encodeData(header: string, content: Uint8Array): Uint8Array[][] {
  const bytes = bufferOf(content)
  const blocks: Uint8Array[][] = []
  let block: Uint8Array[] = header === '' ? [] : [Buffer.from(header, 'latin1')]
  let size = 0
  const add = (from: number, to: number): void => {
    for (let at = from; at < to; at += blockSize) {
      const part = bytes.subarray(at, Math.min(at + blockSize, to))
      block.push(part)
      size += part.length
      if (size >= blockSize) {
        blocks.push(block)
        block = []
        size = 0
      }
    }
  }
  let from = 0
  if (bytes[0] === dot) block.push(oneDot)
  for (let at = bytes.indexOf(dotLine); at !== -1; at = bytes.indexOf(dotLine, from)) {
    add(from, at + 2)
    block.push(oneDot)
    from = at + 2
  }
  add(from, bytes.length)
  const endsLine = bytes.length === 0 ? true : bytes.subarray(-2).equals(lineEnd)
  block.push(endsLine ? end : endAfterLine)
  blocks.push(block)
  return blocks
}
