/** bytes; the size of every page of ours */
export const pageSize = 4096

/** A range of unused bytes in a page: from (inclusive), up to (exclusive). */
export type ByteRange = [from: number, to: number]

/** Header sizes of the kinds of b-tree page, by the first byte (SQLite file format 1.6). */
const headerSizes = new Map([
  [2, 12],
  [5, 12],
  [10, 8],
  [13, 8],
])

const zeros = Buffer.alloc(pageSize)

/**
 * The unused bytes of a b-tree page that hold something. SQLite overwrites what it deletes, but when it redistributes the cells of
 * neighbouring pages, it leaves copies in the space between a page's cell pointers and its cells. Nothing if the page is of another
 * kind, or not valid in every detail.
 */
export function unusedBytes(page: Buffer): ByteRange[] {
  const headerSize = headerSizes.get(page[0] as number)
  if (headerSize === undefined) return []
  const pointersEnd = headerSize + 2 * page.readUInt16BE(3)
  const cellsStart = page.readUInt16BE(5)
  if (pointersEnd > cellsStart || cellsStart > pageSize) return []
  for (let at = headerSize; at < pointersEnd; at += 2) {
    const cell = page.readUInt16BE(at)
    if (cell < cellsStart || cell >= pageSize) return []
  }
  const blocks = freeBlocks(page, cellsStart)
  return blocks === null ? [] : [[pointersEnd, cellsStart] as ByteRange, ...blocks].filter(([from, to]) => !isZero(page, from, to))
}

/** The free blocks between cells, without the four bytes that chain them; null where the chain is broken. */
function freeBlocks(page: Buffer, cellsStart: number): ByteRange[] | null {
  const blocks: ByteRange[] = []
  let end = cellsStart
  for (let start = page.readUInt16BE(1); start !== 0; start = page.readUInt16BE(start)) {
    if (start < end || start + 4 > pageSize) return null
    end = start + page.readUInt16BE(start + 2)
    if (end < start + 4 || end > pageSize) return null
    blocks.push([start + 4, end])
  }
  return blocks
}

const isZero = (page: Buffer, from: number, to: number): boolean => page.compare(zeros, 0, to - from, from, to) === 0

/** True for the pages at fixed positions that describe others: those of `auto_vacuum`, and the one that only holds locks. */
export function isMapPage(page: number, isAutoVacuum: boolean): boolean {
  const lockPage = 0x40000000 / pageSize + 1
  return page === lockPage || (isAutoVacuum && (page - 2) % (Math.floor(pageSize / 5) + 1) === 0)
}
