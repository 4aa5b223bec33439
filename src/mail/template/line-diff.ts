import { lineChanges, type Change } from './line-changes.ts'

/** How two texts differ, by lines. */
export interface LineDiff {
  /** Lines that are in only one of them. */
  added: number
  removed: number
  /** A unified diff without file names; empty if they are equal. */
  diff: string
  /** Whether `diff` is only the beginning. */
  truncated: boolean
}

/** Lines around a change. */
const context = 3
/** Lines of either text, from the first to the last difference, that are compared one by one; others are shown as removed and added. */
const maxLines = 10_000
/** characters */
const maxDiffLength = 256 * 1024

/**
 * The changes that turn the first text into the second. Takes bounded time besides reading the texts: if they differ too much for that, the
 * result is still correct, but not minimal.
 */
export function diffLines(before: string, after: string): LineDiff {
  if (before === after) return { added: 0, removed: 0, diff: '', truncated: false }
  const start = sameStart(before, after)
  const end = sameEnd(before, after, start.at)
  const a = new Middle(before, start, end)
  const b = new Middle(after, start, end)
  const whole = { from: 0, fromEnd: a.count, to: 0, toEnd: b.count }
  return unified(a, b, a.isSplit && b.isSplit ? lineChanges(a.lines, b.lines) : [whole])
}

const newline = 10

/** Where the first differing line begins, and how many lines precede it. */
function sameStart(a: string, b: string): { at: number; lines: number } {
  const length = Math.min(a.length, b.length)
  let lineAt = 0
  let lines = 0
  for (let at = 0; at < length; at++) {
    const code = a.charCodeAt(at)
    if (code !== b.charCodeAt(at)) return { at: lineAt, lines }
    if (code !== newline) continue
    lineAt = at + 1
    lines++
  }
  return { at: lineAt, lines }
}

/** How many characters at the end are equal, in whole lines, and not those before `start`. */
function sameEnd(a: string, b: string, start: number): number {
  const length = Math.min(a.length, b.length) - start
  let same = 0
  let wholeLines = 0
  while (same < length && a.charCodeAt(a.length - 1 - same) === b.charCodeAt(b.length - 1 - same)) {
    // What follows a line break starts a whole line.
    if (a.charCodeAt(a.length - 1 - same) === newline) wholeLines = same
    same++
  }
  const isLineStart = (text: string): boolean => text.length - same === start || text.charCodeAt(text.length - same - 1) === newline
  return isLineStart(a) && isLineStart(b) ? same : wholeLines
}

/** The part of a text between the lines that both share at their ends. */
class Middle {
  readonly text: string
  readonly at: number
  readonly end: number
  /** Lines before it. */
  readonly linesBefore: number
  readonly count: number
  /** Whether there are few enough lines to compare one by one. */
  readonly isSplit: boolean
  readonly lines: string[]

  constructor(text: string, start: { at: number; lines: number }, sameAtEnd: number) {
    this.text = text
    this.at = start.at
    this.end = text.length - sameAtEnd
    this.linesBefore = start.lines
    this.count = countLines(text, this.at, this.end)
    this.isSplit = this.count <= maxLines
    this.lines = this.isSplit ? Array.from(linesFrom(text, this.at, this.end)) : []
  }

  /** The lines between two positions, each with its line break if it has one; read on demand. */
  slice(from: number, to: number): Iterable<string> {
    if (this.isSplit) return this.lines.slice(from, to)
    // Then everything is one change.
    return from === to ? [] : linesFrom(this.text, this.at, this.end)
  }

  contextBefore(): string[] {
    let at = this.at
    for (let lines = 0; lines < context && at > 0; lines++) at = at < 2 ? 0 : this.text.lastIndexOf('\n', at - 2) + 1
    return Array.from(linesFrom(this.text, at, this.at))
  }

  contextBehind(): string[] {
    const lines: string[] = []
    for (const line of linesFrom(this.text, this.end, this.text.length)) {
      if (lines.length === context) break
      lines.push(line)
    }
    return lines
  }
}

function* linesFrom(text: string, at: number, end: number): Generator<string> {
  while (at < end) {
    const found = text.indexOf('\n', at)
    const next = found === -1 || found >= end ? end : found + 1
    yield text.slice(at, next)
    at = next
  }
}

function countLines(text: string, at: number, end: number): number {
  let count = 0
  for (let i = at; i < end; i++) if (text.charCodeAt(i) === newline) count++
  return end > at && text.charCodeAt(end - 1) !== newline ? count + 1 : count
}

function unified(a: Middle, b: Middle, changes: Change[]): LineDiff {
  const out = new DiffText()
  const before = a.contextBefore()
  const behind = a.contextBehind()
  let added = 0
  let removed = 0
  for (let i = 0; i < changes.length;) {
    let last = i
    while (last + 1 < changes.length && changes[last + 1]!.from - changes[last]!.fromEnd <= 2 * context) last++
    writeHunk(out, { a, b, before, behind }, changes.slice(i, last + 1))
    i = last + 1
  }
  for (const { from, fromEnd, to, toEnd } of changes) {
    removed += fromEnd - from
    added += toEnd - to
  }
  return { added, removed, diff: out.toString(), truncated: out.isFull }
}

interface Texts {
  a: Middle
  b: Middle
  /** Shared lines before and after what differs. */
  before: string[]
  behind: string[]
}

function writeHunk(out: DiffText, { a, b, before, behind }: Texts, changes: Change[]): void {
  const [first, last] = [changes[0] as Change, changes.at(-1) as Change]
  const lead = [...before, ...a.slice(Math.max(0, first.from - context), first.from)].slice(-context)
  const tail = [...a.slice(last.fromEnd, Math.min(a.count, last.fromEnd + context)), ...behind].slice(0, context)
  const range = (start: number, end: number, { linesBefore }: Middle): string => {
    const count = end - start + lead.length + tail.length
    // For an empty range, the position is the line before.
    return `${linesBefore + start - lead.length + (count === 0 ? 0 : 1)},${count}`
  }
  out.line(`@@ -${range(first.from, last.fromEnd, a)} +${range(first.to, last.toEnd, b)} @@\n`)
  for (const line of lead) out.line(` ${line}`)
  let at = first.from
  for (const { from, fromEnd, to, toEnd } of changes) {
    for (const line of a.slice(at, from)) out.line(` ${line}`)
    for (const line of from === fromEnd ? [] : a.slice(from, fromEnd)) if (!out.line(`-${line}`)) return
    for (const line of to === toEnd ? [] : b.slice(to, toEnd)) if (!out.line(`+${line}`)) return
    at = fromEnd
  }
  for (const line of tail) out.line(` ${line}`)
}

/** Takes lines until there are too many. */
class DiffText {
  readonly #pieces: string[] = []
  #length = 0
  isFull = false

  /** False where there is no more room. */
  line(line: string): boolean {
    this.#length += line.length
    this.isFull ||= this.#length > maxDiffLength
    if (!this.isFull) this.#pieces.push(line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`)
    return !this.isFull
  }

  toString(): string {
    return this.#pieces.join('')
  }
}
