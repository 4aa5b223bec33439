import { constants, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { FileContent, type FileChange } from './file-content.ts'
import type { FileRecord } from './file-shim.ts'

interface File {
  kind: 'file'
  flushed: FileContent
  /** What has happened since, in order. */
  pending: FileChange[]
}

interface Directory {
  kind: 'directory'
}

interface Link {
  kind: 'link'
  target: string
}

type Node = File | Directory | Link

/** What a directory holds by name, for each directory. */
type Entries = Map<Directory, Map<string, Node>>

/** One change of directories, all or nothing as file systems keep it: names that now stand for something else, or nothing. */
interface Step {
  entries: { directory: Directory; name: string; node: Node | null }[]
  isFlushed: boolean
}

/** From 0 to below 1. */
type Random = () => number

const sectorBytes = 512
const pageBytes = 4096

/**
 * A disk under a recorded process, and what a power cut leaves of it. By POSIX only flushes promise anything: of what a file
 * was given since its last flush each write may be there, in part, or not, whatever the order; a name made, changed or
 * removed is certain once its directory is flushed. File systems with a journal keep changes of directories in order,
 * so a cut leaves either what is certain, or a longer piece of that row.
 */
export class Disk {
  readonly #root: string
  readonly #top: Directory = { kind: 'directory' }
  /** As the processes see it. */
  readonly #live: Entries = new Map([[this.#top, new Map()]])
  /** What is certain, without the steps after it. */
  readonly #certain: Entries = new Map([[this.#top, new Map()]])
  readonly #open = new Map<string, { node: Node; path: string }>()
  readonly #ignoresFlush: (path: string) => boolean
  #steps: Step[] = []

  /**
   * Begins with what is below `before`, all of it flushed, in the place of `root`, whose changes were recorded.
   * @param ignoresFlush the files whose flushes count for nothing
   */
  constructor({ root, before }: { root: string; before: string }, ignoresFlush: (path: string) => boolean = () => false) {
    this.#root = root
    this.#ignoresFlush = ignoresFlush
    this.#load(before, this.#top)
  }

  #load(path: string, directory: Directory): void {
    for (const name of readdirSync(path)) {
      const stat = lstatSync(join(path, name))
      const node = stat.isDirectory() ? newDirectory() : stat.isSymbolicLink() ? linkTo(readlinkSync(join(path, name))) : undefined
      const found = node ?? (stat.isFile() ? newFile(readFileSync(join(path, name))) : undefined)
      if (!found) continue
      this.#change([{ directory, name, node: found }], true)
      if (found.kind === 'directory') this.#load(join(path, name), found)
    }
  }

  apply(record: FileRecord): void {
    const handle = `${record.pid} ${record.fd}`
    switch (record.call) {
      case 'open':
        this.#open.set(handle, this.#opened(record.data.toString(), record.flags))
        break
      case 'close':
        this.#open.delete(handle)
        break
      case 'write':
      case 'truncate':
      case 'flush': {
        const opened = this.#open.get(handle)
        if (opened) this.#applyToFile(record, opened.node, opened.path)
        break
      }
      default:
        this.#applyToNames(record, record.data.toString())
    }
  }

  #applyToFile({ call, offset, data }: FileRecord, node: Node, path: string): void {
    if (call === 'flush') {
      if (!this.#ignoresFlush(path)) this.#flush(node)
    } else if (node.kind === 'file') node.pending.push({ at: offset, bytes: call === 'write' ? data : null })
  }

  #applyToNames({ call, other }: FileRecord, path: string): void {
    const place = this.#placeOf(path)
    const node = call === 'mkdir' ? newDirectory() : call === 'symlink' ? linkTo(other) : this.#named(call === 'link' ? other : path)
    // What was never a file, such as a socket, is not kept.
    if (!node) return
    if (call === 'rename')
      this.#change([
        { ...place, node: null },
        { ...this.#placeOf(other), node },
      ])
    else this.#change([{ ...place, node: call === 'unlink' ? null : node }])
  }

  /** Writes what a power cut at this moment may leave into a new directory. */
  writeAfterPowerCut(target: string, random: Random): void {
    const lastFlushed = this.#steps.findLastIndex(({ isFlushed }) => isFlushed)
    const kept = lastFlushed + 1 + Math.floor(random() * (this.#steps.length - lastFlushed))
    const inOrder = random() < 0.5
    const entries: Entries = new Map([...this.#certain].map(([directory, names]) => [directory, new Map(names)]))
    for (const step of inOrder ? this.#steps.slice(0, kept) : this.#steps.filter(({ isFlushed }) => isFlushed)) take(step, entries)
    this.#write(this.#top, entries, target, random)
  }

  #write(directory: Directory, entries: Entries, target: string, random: Random): void {
    mkdirSync(target, { recursive: true, mode: 0o700 })
    for (const [name, node] of entries.get(directory) ?? []) {
      const path = join(target, name)
      if (node.kind === 'directory') this.#write(node, entries, path, random)
      else if (node.kind === 'link') symlinkSync(node.target, path)
      else writeFileSync(path, afterPowerCut(node, random), { mode: 0o600 })
    }
  }

  #opened(path: string, flags: number): { node: Node; path: string } {
    const found = this.#find(path)
    if (found) {
      if (found.kind === 'file' && flags & constants.O_TRUNC) found.pending.push({ at: 0, bytes: null })
      return { node: found, path }
    }
    if (!(flags & constants.O_CREAT)) throw new Error(`${path} was opened, but nothing has made it`)
    const node = newFile()
    this.#change([{ ...this.#placeOf(path), node }])
    return { node, path }
  }

  #flush(node: Node): void {
    if (node.kind === 'file') {
      for (const change of node.pending) node.flushed.apply(change)
      node.pending = []
      return
    }
    for (const step of this.#steps) step.isFlushed ||= step.entries.some(({ directory }) => directory === node)
    const certain = this.#steps.findIndex(({ isFlushed }) => !isFlushed)
    for (const step of this.#steps.splice(0, certain < 0 ? Infinity : certain)) take(step, this.#certain)
  }

  #change(entries: Step['entries'], isFlushed = false): void {
    const step = { entries, isFlushed }
    take(step, this.#live)
    if (isFlushed) take(step, this.#certain)
    else this.#steps.push(step)
  }

  #find(path: string): Node | undefined {
    const found = this.#named(path)
    return found?.kind === 'link' ? this.#find(resolve(dirname(path), found.target)) : found
  }

  /** The same without following a link. */
  #named(path: string): Node | undefined {
    if (path === this.#root) return this.#top
    const { directory, name } = this.#placeOf(path)
    return this.#live.get(directory)?.get(name)
  }

  #placeOf(path: string): { directory: Directory; name: string } {
    const directory = this.#find(dirname(path))
    if (directory?.kind !== 'directory') throw new Error(`${path} was changed in a directory that is not known`)
    return { directory, name: basename(path) }
  }
}

const newFile = (flushed: Uint8Array = new Uint8Array()): File => ({ kind: 'file', flushed: new FileContent(flushed), pending: [] })
const newDirectory = (): Directory => ({ kind: 'directory' })
const linkTo = (target: string): Link => ({ kind: 'link', target })

function take({ entries }: Step, into: Entries): void {
  for (const { directory, name, node } of entries) {
    const names = into.get(directory) ?? new Map<string, Node>()
    into.set(directory, names)
    if (node) names.set(name, node)
    else names.delete(name)
  }
}

/** What is found of a file: of its pending changes none, all, the first of them, or whichever. */
function afterPowerCut({ flushed, pending }: File, random: Random): Uint8Array {
  const content = new FileContent(flushed.bytes)
  for (const change of surviving(pending, random)) content.apply(change)
  return content.bytes
}

function surviving(pending: FileChange[], random: Random): FileChange[] {
  const luck = random()
  if (luck < 0.2) return []
  if (luck < 0.3) return pending
  const last = Math.floor(random() * (pending.length + 1))
  if (luck < 0.6) return pending.slice(0, last + 1).flatMap((change, place) => (place < last ? change : torn(change, random)))
  return pending.flatMap((change) => (random() < 0.5 ? change : random() < 0.5 ? [] : torn(change, random)))
}

/** Parts of a write, cut at the borders of sectors or pages; some are there. */
function torn({ at, bytes }: FileChange, random: Random): FileChange[] {
  if (bytes === null) return []
  const unit = random() < 0.5 ? sectorBytes : pageBytes
  const parts: FileChange[] = []
  for (let from = 0; from < bytes.length;) {
    const to = Math.min(bytes.length, (Math.floor((at + from) / unit) + 1) * unit - at)
    if (random() < 0.5) parts.push({ at: at + from, bytes: bytes.subarray(from, to) })
    from = to
  }
  return parts
}
