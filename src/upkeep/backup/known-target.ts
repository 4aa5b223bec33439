import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, replaceFile } from '../../platform/durable-file.ts'
import { SternaError } from '../../platform/errors.ts'
import { putText, storedJson } from './store-backup.ts'
import type { Target } from './target.ts'

/** At a target: tells it from others. */
const markName = 'sterna-target.json'
const noteFile = (dataDir: string): string => join(dataDir, 'backup-target.json')

/** The target that this data directory stored to last. */
interface Note {
  place: string
  id: string
}

/**
 * Makes sure that a target is there before anything is stored: an empty directory in place of a mount looks like a new one. So a target
 * is marked when it is first used, and the data directory notes its mark. From then on it is never made anew.
 * @returns whether it is the one from before
 * @throws SternaError `invalid_state` if what is there has no mark
 */
export async function knowTarget(target: Target, dataDir: string): Promise<boolean> {
  const path = noteFile(dataDir)
  const note = readNote(path)
  const isNoted = note?.place === target.place
  if (!isNoted) await target.prepare('')
  const id = (await readMark(target)) ?? (isNoted ? null : await mark(target))
  if (id === null) {
    throw new SternaError(
      'invalid_state',
      `${target.label} is not the place where copies were stored before: ${markName} is missing. Nothing is stored in it. If it is to be ` +
        `mounted, mount it. If it is new, or was emptied, remove ${path}, and it is used from then on.`,
    )
  }
  if (isNoted && note.id === id) return true
  replaceFile(path, JSON.stringify({ place: target.place, id } satisfies Note))
  return false
}

/** Stores the mark again: what removes old files at a target must not remove it. */
export async function renewMark(target: Target, dataDir: string): Promise<void> {
  const note = readNote(noteFile(dataDir))
  if (note?.place === target.place) await mark(target, note.id)
}

async function mark(target: Target, id = randomBytes(8).toString('hex')): Promise<string> {
  await putText(target, markName, JSON.stringify({ id }))
  return id
}

/** Null if there is none. */
async function readMark(target: Target): Promise<string | null> {
  const { id } = ((await storedJson(target, markName)) ?? {}) as { id?: unknown }
  return typeof id === 'string' ? id : null
}

function readNote(path: string): Note | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Note
  } catch (error) {
    if (error instanceof SyntaxError || codeOf(error) === 'ENOENT') return null
    throw error
  }
}
