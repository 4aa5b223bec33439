import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import { unlessConflict, type Database, type Row, type Statement } from './database.ts'
import { everyBeat, insertNode, isUnlike, sharedColumns, type SharedColumns } from './node-rows.ts'
import type { Joining } from './nodes.ts'
import { Silence, type Beat } from './silence.ts'

interface JoinServices {
  db: Pick<Database, 'write'>
  clock: Clock
}

/** A node with other settings. A column is null in the row of a program that did not tell it. */
type UnlikeNode = Row & Beat & { machine: string } & { [Column in keyof SharedColumns]: string | null }

const waitMs = 500

/**
 * Adds the row of a node, which must have the settings of those that live. Whether they do takes a moment to see; what the dead have in their
 * rows does not count.
 * @returns when the write of the row began, ms of the steady clock, and what `everyBeat` finds
 * @throws SternaError `configuration` if a living node has other settings; nothing was changed
 */
export async function joinNodes({ db, clock }: JoinServices, name: string, joining: Joining): Promise<{ beganAt: number; nodes: Row[] }> {
  const silence = new Silence()
  const firstBeats = new Map<string, number>()
  for (;;) {
    const beganAt = clock.steady()
    const row = { name, now: clock.now(), ...joining }
    const joined = await unlessConflict(db.write([oneAtATime, insertNode(row), everyBeat], { as: name }))
    if (joined !== false) return { beganAt, nodes: joined[2]?.rows ?? [] }
    const [found] = await db.write([unlikeNodes(sharedColumns(joining.settings))])
    const unlike = (found?.rows ?? []) as UnlikeNode[]
    const living = unlike.find((each) => (firstBeats.get(each.name) ?? each.beat) !== each.beat)
    if (living) throw refusal(sharedColumns(joining.settings), living)
    for (const each of unlike) if (!firstBeats.has(each.name)) firstBeats.set(each.name, each.beat)
    const dead = silence.look(unlike, { beganAt, endedAt: clock.steady() })
    if (dead.length > 0) await db.write(dead.map(fence))
    else await new Promise<void>((resolve) => clock.at(clock.now() + waitMs, resolve))
  }
}

/** Of two that join at once with different settings, the second sees the first. */
const oneAtATime: Statement = { sql: 'update change_order set last = last', expect: 1 }

const unlikeNodes = (params: SharedColumns): Statement => ({
  sql: `select name, beat, machine, mode, hostname, base_url, return_path_domain from node where ${isUnlike} order by name`,
  params: { ...params },
})

/** It beats no more if it wakes, and ends. What it has in hand is freed when it is buried. */
const fence = ({ name, beat }: Beat): Statement => ({
  sql: 'update node set beat = -1 where name = :name and beat = :beat',
  params: { name, beat },
})

const settingOf: Record<keyof SharedColumns, string> = {
  mode: 'mode',
  hostname: 'hostname',
  base_url: 'base_url',
  return_path_domain: 'return_path.domain',
}

function refusal(ours: SharedColumns, theirs: UnlikeNode): SternaError {
  const columns = Object.keys(settingOf) as (keyof SharedColumns)[]
  const differing = columns.filter((column) => theirs[column] !== null && theirs[column] !== ours[column])
  const each = differing.map((column) => `${settingOf[column]} is ${ours[column]} here, and ${theirs[column]} there`).join('; ')
  return new SternaError(
    'configuration',
    `Another node runs on this database with other settings (${theirs.name} on ${theirs.machine}): ${each}. All nodes need the same. Correct ` +
      'the settings of this one; or, to change them, stop all nodes, and start them with the new ones.',
  )
}
