import { randomBytes } from 'node:crypto'
import { createReadStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { messageOf } from '../errors.ts'
import { pieceBytes } from '../store/log-piece.ts'
import { chainOf, spoolFiles, type SecuredPosition } from '../store/log-spool.ts'
import { CopyClaim } from './copy-claim.ts'
import { generationPrefix, newGeneration, segmentFile, snapshotFile } from './copy-name.ts'
import { listCopies, pruneCopies } from './kept-copies.ts'
import { ChainBroken, LogSource, type LogPosition } from './log-source.ts'
import { pack, packedEnd } from './packing.ts'
import type { Target } from './target.ts'

export interface CopySettings {
  dataDir: string
  /** The file of the database. */
  database: string
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

export interface CopyServices {
  target: Target
  secured: SecuredPosition
  /** As in `StoreCopying`. */
  begin(generation: string): Promise<void>
  snapshot(file: string): Promise<void>
  tell(status: CopyStatus): void
  now(): number
}

const claimEveryMs = 30_000
const pruneEveryMs = 3_600_000
/** How long after a snapshot failed the next one is tried, ms. */
const snapshotAgainMs = 30_000
/** How long trouble may last before it is a fault, ms. */
const patienceMs = 10_000

interface Generation {
  name: string
  position: LogPosition
  /** Of the last segment stored. */
  number: number
  /** When the newest snapshot was made; 0 if there is none. */
  snapshotAt: number
}

/** Copies the commits of the log to a target, in segments, and the whole database from time to time. Each step may fail and be repeated. */
export class CopyRunner {
  readonly #services: CopyServices
  readonly #settings: CopySettings
  readonly #source: LogSource
  readonly #claim: CopyClaim
  #generation: Generation | null = null
  #claimedAt = -Infinity
  #prunedAt = -Infinity
  readonly #trouble = new Map<'segments' | 'snapshot', { since: number; text: string }>()
  #snapshotTriedAt = 0
  #currentAt: number
  #storedBytes = 0
  #snapshot: Promise<void> | null = null
  /** Resolves with the number of the last segment once all that is in the log by now is stored. */
  #waiting: ((number: number) => void)[] = []

  constructor(services: CopyServices, settings: CopySettings) {
    this.#services = services
    this.#settings = settings
    this.#source = new LogSource(settings.dataDir, settings.database)
    this.#claim = new CopyClaim(services.target, settings.origin, () => services.now())
    this.#currentAt = services.now()
    rmSync(this.#snapshotPath, { force: true })
  }

  /** Whether the whole database is being stored. */
  get isStoringSnapshot(): boolean {
    return this.#snapshot !== null
  }

  /** Stores what is new; call it every second. Never rejects; false if it could not. */
  async step(): Promise<boolean> {
    try {
      await this.#renewClaim()
      this.#generation ??= (await this.#resume()) ?? (await this.#begin())
      while ((await this.#storeNext(this.#generation)) === 'more');
      this.#startSnapshot(this.#generation)
      await this.#prune(this.#generation)
      this.#trouble.delete('segments')
      this.#tell()
      return true
    } catch (error) {
      if (error instanceof ChainBroken) this.#startAgain(error.message)
      this.#note('segments', error)
      return false
    }
  }

  #startAgain(why: string): void {
    this.#generation = null
    // The next one begins once the target answers.
    this.#claimedAt = -Infinity
    for (const resolve of this.#waiting.splice(0)) resolve(0)
    this.#tell(`the copy starts again: ${why}`)
  }

  async #renewClaim(): Promise<void> {
    if (this.#services.now() - this.#claimedAt < claimEveryMs) return
    this.#claimedAt = -Infinity
    await this.#claim.renew()
    this.#claimedAt = this.#services.now()
  }

  /** The generation that the store still adds to, as far as the target has it. */
  async #resume(): Promise<Generation | null> {
    const { dataDir, origin } = this.#settings
    const name = chainOf(dataDir)
    if (name === null) return null
    const stored = await listCopies(this.#services.target, generationPrefix(origin, name))
    const last = stored.segments.at(-1)
    const [first] = spoolFiles(dataDir)
    const position = last ?? (first === undefined ? null : { salts: first.salts, to: first.from, checksum: null })
    if (position === null) return null
    this.#services.secured.set(position.salts, position.to)
    return { name, position, number: last?.number ?? 0, snapshotAt: stored.snapshots.at(-1)?.at ?? 0 }
  }

  async #begin(): Promise<Generation> {
    const name = newGeneration(this.#services.now(), randomBytes(2).toString('hex'))
    await this.#services.begin(name)
    const [first] = spoolFiles(this.#settings.dataDir)
    if (first === undefined || chainOf(this.#settings.dataDir) !== name) throw new Error('the store has not begun a chain')
    this.#tell(`generation ${name} of the copy begins`)
    return { name, position: { salts: first.salts, to: first.to, checksum: null }, number: 0, snapshotAt: 0 }
  }

  async #storeNext(generation: Generation): Promise<'more' | 'end'> {
    const { target, secured, now } = this.#services
    const { dataDir, origin, recipients } = this.#settings
    if (chainOf(dataDir) !== generation.name) throw new ChainBroken('the target was away for too long, or the disk is full')
    const waiting = this.#waiting.splice(0)
    const lookedAt = now()
    const next = await this.#source.after(generation.position)
    if (next === null) {
      this.#currentAt = lookedAt
      for (const resolve of waiting) resolve(generation.number)
      return 'end'
    }
    try {
      const segment = { number: generation.number + 1, at: now(), ...next.position, from: next.from }
      const content = pack(Readable.from([pieceBytes(next.header, next.seed, next.frames)]), recipients, 'fast')
      await target.put(`${generationPrefix(origin, generation.name)}${segmentFile(segment)}${packedEnd(recipients)}`, content)
    } catch (error) {
      this.#waiting.push(...waiting)
      throw error
    }
    generation.number++
    generation.position = next.position
    secured.set(next.position.salts, next.position.to)
    this.#storedBytes += next.frames.length
    this.#dropCopied(next.position)
    if (!next.isTail) {
      this.#waiting.push(...waiting)
      return 'more'
    }
    this.#currentAt = lookedAt
    for (const resolve of waiting) resolve(generation.number)
    return 'end'
  }

  /** The last file of the log's present turn stays: it says where that turn ended, if it did. */
  #dropCopied({ salts }: LogPosition): void {
    const kept = spoolFiles(this.#settings.dataDir)
    const last = kept.findLastIndex((file) => file.salts === salts)
    const copied = kept.filter((file, place) => (last < 0 ? true : place < last) && this.#isCopied(file))
    for (const { path } of copied) rmSync(path, { force: true })
  }

  #isCopied({ salts, to }: { salts: string; to: number }): boolean {
    const position = this.#generation?.position
    return position?.salts !== salts || to <= position.to
  }

  /** Stores the whole database, if it is time. Segments go on meanwhile. */
  #startSnapshot(generation: Generation): void {
    const now = this.#services.now()
    if (this.#snapshot !== null || now - generation.snapshotAt < this.#settings.snapshotEveryMs) return
    if (this.#trouble.has('snapshot') && now - this.#snapshotTriedAt < snapshotAgainMs) return
    this.#snapshotTriedAt = now
    this.#snapshot = this.#storeSnapshot(generation)
      .then(
        () => void this.#trouble.delete('snapshot'),
        (error: unknown) => this.#note('snapshot', error),
      )
      .finally(() => {
        rmSync(this.#snapshotPath, { force: true })
        this.#snapshot = null
      })
  }

  async #storeSnapshot(generation: Generation): Promise<void> {
    const { target, snapshot, now } = this.#services
    const { origin, recipients } = this.#settings
    const number = generation.number + 1
    rmSync(this.#snapshotPath, { force: true })
    await snapshot(this.#snapshotPath)
    const covered = new Promise<number>((resolve) => this.#waiting.push(resolve))
    const until = await covered
    const at = now()
    if (this.#generation !== generation) throw new ChainBroken('the copy started again')
    const name = `${generationPrefix(origin, generation.name)}${snapshotFile({ number, until, at })}${packedEnd(recipients)}`
    await target.put(name, pack(createReadStream(this.#snapshotPath), recipients))
    generation.snapshotAt = at
    this.#tell(`a snapshot for the copy was stored: ${name}`)
  }

  get #snapshotPath(): string {
    return join(this.#settings.dataDir, 'copying-snapshot.db')
  }

  async #prune(generation: Generation): Promise<void> {
    const { target, now } = this.#services
    if (generation.snapshotAt === 0 || now() - this.#prunedAt < pruneEveryMs) return
    await pruneCopies(target, this.#settings.origin, now() - this.#settings.keepMs)
    this.#prunedAt = now()
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
