import { createWriteStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { addSegment, segmentFault } from '../../platform/store/file-copies.ts'
import { allCopies, type CopyGeneration } from './kept-copies.ts'
import { unpack } from './packing.ts'
import type { Target } from './target.ts'

type Segment = CopyGeneration['segments'][number]

/** What to put together. */
interface CopyPlan {
  snapshot: CopyGeneration['snapshots'][number]
  segments: Segment[]
  /** Epoch, ms: everything committed a second before it is in it. */
  at: number
}

interface Wanted {
  /** Epoch, ms; null: the newest state. */
  at: number | null
  /** Of which data directory; needed if there are several. */
  origin: string | undefined
}

/** Segments that are fetched ahead: one at a time, the time on the way would add up. */
const ahead = 16

/**
 * Finds what leads to the newest state, or to that at a time.
 * @throws SternaError `not_found` if there is none, `invalid_state` if it is not clear which is meant or a part is missing
 */
function planCopy(generations: readonly CopyGeneration[], { at, origin }: Wanted, label: string): CopyPlan {
  const wanted = generations.filter((each) => origin === undefined || each.origin === origin)
  const origins = [...new Set(wanted.map((each) => each.origin))]
  if (origins.length > 1) {
    const which = origins.map((each) => `--origin ${each}`).join(' or ')
    throw new SternaError('invalid_state', `${label} holds the copies of ${origins.length} data directories. Say which: ${which}.`)
  }
  const isEarly = (each: { at: number }): boolean => at === null || each.at <= at
  const generation = wanted.findLast(({ snapshots }) => snapshots.some(isEarly))
  const snapshot = generation?.snapshots.findLast(isEarly)
  if (generation === undefined || snapshot === undefined) {
    const first = wanted.flatMap(({ snapshots }) => snapshots)[0]
    const since = first === undefined ? '' : ` The earliest is that of ${isoTime(first.at)}.`
    throw new SternaError('not_found', `${label} has no whole copy of the database${at === null ? '' : ` at ${isoTime(at)}`}.${since}`)
  }
  const segments = generation.segments.filter((each) => each.number >= snapshot.number && isEarly(each))
  const plan = { snapshot, segments, at: Math.max(snapshot.at, segments.at(-1)?.at ?? 0) }
  requireUnbroken(plan)
  return plan
}

function requireUnbroken(plan: CopyPlan): void {
  const { segments } = plan
  const { number: first, until } = plan.snapshot
  const place = segments.findIndex(({ number }, i) => number !== first + i)
  if (place < 0 && segments.length >= until - first + 1) return
  const last = place < 0 ? segments.length : place
  throw broken(plan, last, `segment ${first + last} is missing`)
}

function broken({ snapshot, segments }: CopyPlan, place: number, what: string): SternaError {
  const before = segments[place - 1]
  const isWhole = before !== undefined && before.number >= snapshot.until
  const advice = isWhole ? ` What came before can be restored: --at ${isoTime(before.at)}` : ' Use an earlier time or a backup.'
  return new SternaError('invalid_state', `The copy cannot be restored: ${what}.${advice}`)
}

/**
 * Puts a copy together in a new file: the snapshot, and every commit after it. Each segment is checked by its own checksums, and must
 * continue the one before.
 * @returns when its state was stored, epoch, ms
 * @throws SternaError `invalid_state` if a part is damaged, missing or swapped; then no file is left
 */
export async function restoreCopy(target: Target, wanted: Wanted, file: string, identities: readonly string[]): Promise<number> {
  const plan = planCopy(await allCopies(target), wanted, target.label)
  try {
    await fetchSnapshot(target, plan.snapshot.name, file, identities)
    return await addSegments(target, plan, file, identities)
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

async function fetchSnapshot(target: Target, name: string, file: string, identities: readonly string[]): Promise<void> {
  try {
    const content = unpack(await target.get(name), name, identities)
    await pipeline(content, createWriteStream(file, { flags: 'wx', mode: 0o600 }))
  } catch (error) {
    if (error instanceof SternaError) throw error
    const message = `${name} cannot be restored: ${messageOf(error)}. Use an earlier time or a backup.`
    throw new SternaError('invalid_state', message, { cause: error })
  }
}

async function addSegments(target: Target, plan: CopyPlan, file: string, identities: readonly string[]): Promise<number> {
  const { segments, at } = plan
  const handle = await open(file, 'r+')
  try {
    const fetched: Promise<Buffer | Error>[] = []
    let pages: { count: number; size: number } | undefined
    for (const [place, segment] of segments.entries()) {
      while (fetched.length < segments.length && fetched.length < place + ahead) {
        fetched.push(fetchSegment(target, segments[fetched.length] as Segment, identities))
      }
      const bytes = await (fetched[place] as Promise<Buffer | Error>)
      // What was added is no longer needed.
      fetched[place] = Promise.resolve(Buffer.alloc(0))
      const fault = bytes instanceof Error ? messageOf(bytes) : segmentFault(bytes, segment, segments[place - 1])
      if (fault !== null) throw broken(plan, place, `${segment.name} cannot be used: ${fault}`)
      pages = await addSegment(handle, bytes as Buffer)
    }
    if (pages !== undefined) await handle.truncate(pages.count * pages.size)
    await handle.sync()
    return at
  } finally {
    await handle.close()
  }
}

async function fetchSegment(target: Target, { name }: Segment, identities: readonly string[]): Promise<Buffer | Error> {
  try {
    return Buffer.concat(await unpack(await target.get(name), name, identities).toArray())
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
