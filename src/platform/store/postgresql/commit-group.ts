import { messageOf } from '../../errors.ts'
import type { Written } from '../database.ts'
import type { Answer, BriefWritten, NumberedStatement, Request } from '../thread-messages.ts'
import type { PostgresConnection, Ran } from './postgres-connection.ts'
import { appendsEvent, lockStatement, locksOf } from './postgres-dialect.ts'
import { Fenced, isBlocked, isPassing, LostConnection, Unmet } from './postgres-errors.ts'

type Write = Extract<Request, { type: 'write' }>

export interface GroupStatements {
  textOf(number: number): string
}

/** The row of a node, in which the number of the group is written. */
export interface Fence {
  node: string
  group: number
  /** What the group does to the row itself. */
  change: 'added' | 'removed' | null
}

interface Group extends GroupStatements {
  writes: Write[]
  /** Null before this process is a node. */
  fence: Fence | null
  /** Others have just been found in the way: it waits for each only a moment. */
  isHurried: boolean
}

/** How long a group in a hurry waits for a lock, ms. */
const hurriedMs = 100

/** A statement of a group has failed: nothing of the group is written. */
export class Refused extends Error {
  /** The place of its batch in the group. */
  readonly batch: number
  /** Its place in the batch. */
  readonly statement: number

  constructor(cause: unknown, { batch, statement }: { batch: number; statement: number }) {
    super(messageOf(cause), { cause })
    this.batch = batch
    this.statement = statement
  }
}

/** Somebody else holds a row that some batches need: nothing of the group is written. */
export class Blocked extends Error {
  /** The places of these batches in the group. */
  readonly batches: readonly number[]

  constructor(cause: unknown, batches: readonly number[]) {
    super(messageOf(cause), { cause })
    this.batches = batches
  }
}

/** The connection was lost during the commit: the number in the row of the node says whether it happened. */
export class InDoubt extends Error {
  readonly fence: Fence | null
  /** What is to be said if it has happened. */
  readonly answers: Answer[]

  constructor(cause: unknown, { fence, answers }: { fence: Fence | null; answers: Answer[] }) {
    super(messageOf(cause), { cause })
    this.fence = fence
    this.answers = answers
  }
}

/**
 * Writes a group in one commit, on two journeys to the server. On the first go all statements but the inserts of events, and what they
 * answer is checked; on the second the inserts of events, which have one order over all nodes, and the commit: so that order is held for
 * only as long as the commit takes.
 * @throws Refused, Blocked, InDoubt, Fenced, LostConnection, and what says that the same may work when it is tried again
 */
export async function commitGroup(connection: PostgresConnection, group: Group): Promise<Answer[]> {
  const startedAt = performance.now()
  const running = new RunningGroup(connection, group)
  try {
    await running.first()
    const ms = (performance.now() - startedAt) / group.writes.length
    return await running.second(ms)
  } catch (error) {
    if (!(error instanceof InDoubt)) await connection.run('rollback').catch(() => {})
    throw error
  }
}

interface Sent {
  place: { batch: number; statement: number }
  expect: number | undefined
  ran: Promise<Ran>
}

class RunningGroup {
  readonly #connection: PostgresConnection
  readonly #group: Group
  readonly #written: BriefWritten[][]

  constructor(connection: PostgresConnection, group: Group) {
    this.#connection = connection
    this.#group = group
    // An event is one row, whether or not there is time for an answer.
    this.#written = group.writes.map(({ batch }) => batch.map(([number]) => (appendsEvent(group.textOf(number)) ? 1 : 0)))
  }

  async first(): Promise<void> {
    const { writes, fence, isHurried } = this.#group
    const before = [this.#send('begin')]
    if (isHurried) before.push(this.#send(`set local lock_timeout = ${hurriedMs}`))
    const isNew = fence?.change === 'added'
    if (fence && !isNew) before.push(this.#heard(this.#keepRow(fence)))
    const locks = locksOf(writes).map((name) => ({ name, ran: this.#lock(name) }))
    const sent = this.#sendAll((text) => !appendsEvent(text))
    const after = fence && isNew ? [this.#heard(this.#keepRow(fence))] : []
    await this.#answered(before)
    for (const { name, ran } of locks) await ran.catch((error: unknown) => this.#fail(error, this.#lockers(name)))
    await this.#check(sent)
    await this.#answered(after)
  }

  /** @param ms how long the statements of a batch took */
  async second(ms: number): Promise<Answer[]> {
    const order = this.#hasEvents() ? [this.#send('select name from event_order for update')] : []
    const sent = this.#sendAll(appendsEvent)
    const committed = this.#send('commit')
    try {
      await this.#answered(order)
      await this.#check(sent)
      const { command } = await committed
      if (command !== 'COMMIT') throw new Error(`the server has answered a commit with ${command}`)
    } catch (error) {
      committed.catch(() => {})
      if (error instanceof LostConnection) throw new InDoubt(error, { fence: this.#group.fence, answers: this.#answers(ms) })
      throw error
    }
    return this.#answers(ms)
  }

  #answers(ms: number): Answer[] {
    return this.#group.writes.map(({ id, isTimed }, batch) => {
      const written = this.#written[batch] as BriefWritten[]
      return isTimed ? { id, written, ms } : { id, written }
    })
  }

  #lock(name: string): Promise<Ran> {
    const { sql, values } = lockStatement(name)
    return this.#send(sql, values)
  }

  /** The places of the batches that lock this row. */
  #lockers(name: string): number[] {
    return this.#group.writes.flatMap(({ locks = [] }, batch) => (locks.includes(name) ? [batch] : []))
  }

  #fail(error: unknown, batches: number[]): never {
    throw isBlocked(error) ? new Blocked(error, batches) : error
  }

  #hasEvents(): boolean {
    return this.#group.writes.some(({ batch }) => batch.some(([number]) => appendsEvent(this.#group.textOf(number))))
  }

  #sendAll(isMeant: (text: string) => boolean): Sent[] {
    return this.#group.writes.flatMap(({ batch: statements }, batch) =>
      statements.flatMap(([number, values, expect]: NumberedStatement, statement) => {
        const text = this.#group.textOf(number)
        return isMeant(text) ? [{ place: { batch, statement }, expect, ran: this.#heard(this.#connection.run(text, values, number)) }] : []
      }),
    )
  }

  #send(text: string, values: string[] = []): Promise<Ran> {
    return this.#heard(this.#connection.run(text, values))
  }

  /** Whoever waits for an earlier one hears of the first failure. */
  #heard<T>(sent: Promise<T>): Promise<T> {
    sent.catch(() => {})
    return sent
  }

  async #keepRow({ node, group }: Fence): Promise<Ran> {
    const ran = await this.#connection.run('update node set group_no = $2 where name = $1', [node, group])
    if (ran.changes !== 1) throw new Fenced(node)
    return ran
  }

  async #answered(sent: Promise<Ran>[]): Promise<void> {
    for (const each of sent) await each
  }

  async #check(sent: Sent[]): Promise<void> {
    for (const { place, expect, ran } of sent) {
      const written = await ran.then(briefOf).catch((error: unknown) => {
        if (isPassing(error)) this.#fail(error, [place.batch])
        throw new Refused(error, place)
      })
      const changes = typeof written === 'number' ? written : written.changes
      if (expect !== undefined && changes !== expect) throw new Refused(new Unmet(), place)
      ;(this.#written[place.batch] as BriefWritten[])[place.statement] = written
    }
  }
}

const briefOf = ({ rows, changes }: Ran): BriefWritten => (rows === null ? changes : ({ rows, changes: rows.length } satisfies Written))
