import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { messageOf } from '../../platform/errors.ts'
import { ChainBroken, removeCopy, type LogPosition, type LogSource } from '../../platform/store/file-copies.ts'
import { CopyClaim } from './copy-claim.ts'
import { generationPrefix, newGeneration, segmentFile, snapshotFile } from './copy-name.ts'
import { isUnbroken, listCopies, pruneCopies } from './kept-copies.ts'
import { renewMark } from './known-target.ts'
import { pack, packedEnd } from './packing.ts'
import type { Target } from './target.ts'

export interface CopySettings {
  dataDir: string
  origin: string
  recipients: readonly string[]
  snapshotEveryMs: number
  keepMs: number
}

/** How the copy is doing. */
export interface CopyStatus {
  /** What keeps it from going on; null if nothing does. */
  problem: string | null
  /** How old the newest state is that is stored whole, ms. */
  behindMs: number
  /** Stored so far, bytes. */
  storedBytes: number
  /** What a log should say; null if nothing. */
  event: string | null
}

interface CopyServices {
  target: Target
  source: LogSource
  /** As in `StoreCopying`. */
  begin(generation: string): Promise<void>
  snapshot(file: string): Promise<void>
  tell(status: CopyStatus): void
  now(): number
}

const pruneEveryMs = 3_600_000
/** How long after a snapshot failed the next one is tried, ms. */
const snapshotAgainMs = 30_000
/** How long trouble may last before it is a fault, ms. */
const patienceMs = 10_000

interface Generation {
  name: string
  position: LogPosition
  /** Of the last segment stored; 0 if there is none. */
  number: number
  /** The name of that segment, or of a snapshot while there is none; null if nothing is stored. */
  last: string | null
  /** When the newest snapshot was made; 0 if there is none. */
  snapshotAt: number
}

const lacksNothing = (before: Generation, segment?: { number: number }, snapshot?: object): boolean =>
  (segment?.number ?? 0) >= before.number && (before.snapshotAt === 0 || snapshot !== undefined)

/** Copies the commits of the log to a target, in segments, and the whole database from time to time. Each step may fail and be repeated. */
export class CopyRunner {
  readonly #services: CopyServices
  readonly #settings: CopySettings
  readonly #claim: CopyClaim
  #generation: Generation | null = null
  /** Whether the target holds what it should, as far as is known. After every failure it is looked at again. */
  #isSure = false
  /** Whether another generation has to begin. */
  #isBroken = false
  #prunedAt = -Infinity
  readonly #trouble = new Map<'segments' | 'snapshot' | 'gap', { since: number; text: string }>()
  #snapshotTriedAt = 0
  #currentAt: number
  #storedBytes = 0
  #snapshot: Promise<void> | null = null
  /** Resolves with the number of the last segment once all that is in the log by now is stored. */
  #waiting: ((number: number) => void)[] = []

  constructor(services: CopyServices, settings: CopySettings) {
    this.#services = services
    this.#settings = settings
    this.#claim = new CopyClaim(services.target, settings, () => services.now())
    this.#currentAt = services.now()
    removeCopy(this.#snapshotPath)
  }

  /** Whether the whole database is being stored. */
  get isStoringSnapshot(): boolean {
    return this.#snapshot !== null
  }

  /** Stores what is new; call it every second. Never rejects; false if it could not. */
  async step(): Promise<boolean> {
    try {
      const generation = await this.#current()
      while ((await this.#storeNext(generation)) === 'more');
      this.#startSnapshot(generation)
      await this.#prune(generation)
      this.#trouble.delete('segments')
      this.#tell()
      return true
    } catch (error) {
      this.#doubt()
      if (error instanceof ChainBroken) this.#startAgain(error.message)
      this.#note('segments', error)
      return false
    }
  }

  /** Ends the generation. The next one begins with a snapshot, once the target answers; until that is stored, it is a fault. */
  #startAgain(why: string): void {
    this.#generation = null
    this.#isBroken = true
    for (const resolve of this.#waiting.splice(0)) resolve(0)
    this.#trouble.set('gap', { since: this.#services.now() - patienceMs, text: `the copy starts again with the whole database: ${why}` })
    this.#tell(`the copy starts again: ${why}`)
  }

  /** What the target holds has to be looked at before more is stored: it may have been away, or be another by now. */
  #doubt(): void {
    this.#isSure = false
    this.#claim.doubt()
  }

  /** The generation to add to, as far as the target has it. */
  async #current(): Promise<Generation> {
    if (!(await this.#claim.hold())) this.#isSure = false
    if (this.#isSure && this.#generation !== null) return this.#generation
    this.#generation = (this.#isBroken ? null : await this.#resume()) ?? (await this.#begin())
    this.#isSure = true
    return this.#generation
  }

  /**
   * The generation that the store still adds to; null if there is none.
   * @throws ChainBroken if the target lacks a part that was stored
   */
  async #resume(): Promise<Generation | null> {
    const before = this.#generation
    if (before !== null) this.#requireChain(before)
    const { target, source } = this.#services
    const name = source.generation
    if (name === null) return null
    const prefix = generationPrefix(this.#settings.origin, name)
    const stored = await listCopies(target, prefix)
    const [segment, snapshot] = [stored.segments.at(-1), stored.snapshots.at(-1)]
    const isWhole = isUnbroken(stored) && (before === null || lacksNothing(before, segment, snapshot))
    if (!isWhole && before !== null) throw new ChainBroken('the target lacks what was stored there')
    const found = { name, last: (segment ?? snapshot)?.name ?? null, snapshotAt: snapshot?.at ?? 0 }
    // A snapshot that is being stored belongs to it.
    const position = segment ?? before?.position ?? (snapshot === undefined ? null : source.beginning)
    if (!isWhole || position === null) return null
    if (found.last === null) await target.prepare(prefix)
    source.secure(position)
    return Object.assign(before ?? {}, { ...found, position, number: segment?.number ?? 0 })
  }

  async #begin(): Promise<Generation> {
    const name = newGeneration(this.#services.now(), randomBytes(2).toString('hex'))
    const { target, begin, source } = this.#services
    await target.prepare(generationPrefix(this.#settings.origin, name))
    await begin(name)
    const position = source.beginning
    if (position === null || source.generation !== name) throw new Error('the store has not begun a chain')
    this.#isBroken = false
    this.#tell(`generation ${name} of the copy begins`)
    return { name, position, number: 0, last: null, snapshotAt: 0 }
  }

  async #storeNext(generation: Generation): Promise<'more' | 'end'> {
    const { target, source, now } = this.#services
    const { origin, recipients } = this.#settings
    this.#requireChain(generation)
    const waiting = this.#waiting.splice(0)
    const lookedAt = now()
    const next = await source.after(generation.position)
    if (next === null) {
      this.#noteCurrent(generation, lookedAt)
      for (const resolve of waiting) resolve(generation.number)
      return 'end'
    }
    const segment = { number: generation.number + 1, at: now(), ...next.position, from: next.from }
    const name = `${generationPrefix(origin, generation.name)}${segmentFile(segment)}${packedEnd(recipients)}`
    try {
      // A target that was away, or is another by now, is known by that: so no gap stays behind the last segment.
      if (generation.last !== null && !(await target.has(generation.last))) throw new Error(`${generation.last} is not there any more`)
      await target.put(name, pack(Readable.from([next.bytes]), recipients, 'fast'))
    } catch (error) {
      this.#waiting.push(...waiting)
      throw error
    }
    generation.number++
    generation.last = name
    generation.position = next.position
    source.secure(next.position)
    source.dropUpTo(next.position)
    this.#storedBytes += next.length
    if (!next.isTail) {
      this.#waiting.push(...waiting)
      return 'more'
    }
    this.#noteCurrent(generation, lookedAt)
    for (const resolve of waiting) resolve(generation.number)
    return 'end'
  }

  #requireChain({ name }: Generation): void {
    if (this.#services.source.generation !== name) throw new ChainBroken('the target was away for too long, or the disk is full')
  }

  /** Without a snapshot, the segments are of no use yet. */
  #noteCurrent({ snapshotAt }: Generation, at: number): void {
    if (snapshotAt !== 0) this.#currentAt = at
  }

  /** Stores the whole database, if it is time. Segments go on meanwhile. */
  #startSnapshot(generation: Generation): void {
    const now = this.#services.now()
    if (this.#snapshot !== null || now - generation.snapshotAt < this.#settings.snapshotEveryMs) return
    if (this.#trouble.has('snapshot') && now - this.#snapshotTriedAt < snapshotAgainMs) return
    this.#snapshotTriedAt = now
    this.#snapshot = this.#storeSnapshot(generation)
      .then(
        () => {
          this.#trouble.delete('snapshot')
          this.#trouble.delete('gap')
        },
        (error: unknown) => {
          // The next one is made at once.
          if (error instanceof ChainBroken) return
          this.#doubt()
          this.#note('snapshot', error)
        },
      )
      .finally(() => {
        removeCopy(this.#snapshotPath)
        this.#snapshot = null
      })
  }

  async #storeSnapshot(generation: Generation): Promise<void> {
    const { target, snapshot, now } = this.#services
    const { origin, recipients } = this.#settings
    const number = generation.number + 1
    removeCopy(this.#snapshotPath)
    await snapshot(this.#snapshotPath)
    const covered = new Promise<number>((resolve) => this.#waiting.push(resolve))
    const until = await covered
    const at = now()
    if (this.#generation !== generation) throw new ChainBroken('the copy started again')
    const name = `${generationPrefix(origin, generation.name)}${snapshotFile({ number, until, at })}${packedEnd(recipients)}`
    await target.put(name, pack(createReadStream(this.#snapshotPath), recipients))
    generation.snapshotAt = at
    generation.last ??= name
    this.#tell(`a snapshot for the copy was stored: ${name}`)
  }

  get #snapshotPath(): string {
    return join(this.#settings.dataDir, 'copying-snapshot.db')
  }

  async #prune(generation: Generation): Promise<void> {
    const { target, now } = this.#services
    if (generation.snapshotAt === 0 || now() - this.#prunedAt < pruneEveryMs) return
    await pruneCopies(target, this.#settings.origin, now() - this.#settings.keepMs)
    await renewMark(target, this.#settings.dataDir)
    this.#prunedAt = now()
    // Somebody may have removed a part.
    this.#doubt()
  }

  #note(what: 'segments' | 'snapshot', error: unknown): void {
    const text = messageOf(error)
    this.#trouble.set(what, { since: this.#trouble.get(what)?.since ?? this.#services.now(), text })
    this.#tell()
  }

  #tell(event: string | null = null): void {
    const now = this.#services.now()
    const lasting = [...this.#trouble.values()].find(({ since }) => now - since >= patienceMs)
    this.#services.tell({ problem: lasting?.text ?? null, behindMs: now - this.#currentAt, storedBytes: this.#storedBytes, event })
  }
}
