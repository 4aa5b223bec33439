import { setTimeout as pause } from 'node:timers/promises'
import type { Metrics } from '../../metrics/metrics.ts'
import type { Answer, Request, ThreadError } from '../thread-messages.ts'
import { Blocked, commitGroup, InDoubt, Refused, type Fence, type GroupStatements } from './commit-group.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import { Fenced, LostConnection, threadErrorOf } from './postgres-errors.ts'

export type Write = Extract<Request, { type: 'write' }>

/** A batch that waits, and since when. */
interface Taken {
  write: Write
  since: number
}

interface GroupWriterServices extends GroupStatements {
  open(): Promise<PostgresConnection>
  send(answers: Answer[]): void
  metrics: Pick<Metrics, 'commits' | 'commitBatches' | 'failedCommits'>
}

/** Limits the batches of one commit, so that one commit never holds up the others for long. */
const groupSize = 256
/** How long a batch is tried before it is refused, ms. */
const patienceMs = 10_000
/** The wait before a group is tried again, ms: it doubles up to the longest. */
const firstWaitMs = 20
const maxWaitMs = 1_000

const isOver = ({ since }: Taken): boolean => performance.now() - since > patienceMs

/**
 * Writes batches over one connection: what comes in while a group is being written is the next group, with one commit. A batch that fails is
 * refused alone, and one that needs a row that somebody else holds waits for it alone. What is in the way of all for a moment, such as a server
 * that starts again, is waited for.
 */
export class GroupWriter {
  readonly #services: GroupWriterServices
  #connection: PostgresConnection | undefined
  #waiting: Taken[] = []
  /** Others held a row that they need. */
  #blocked: Taken[] = []
  #running: Promise<void> | undefined
  /** The node whose row this writer keeps; null before it has one. */
  #node: string | null = null
  #group = 0

  constructor(services: GroupWriterServices) {
    this.#services = services
  }

  take(writes: Write[]): void {
    const since = performance.now()
    for (const write of writes) this.#waiting.push({ write, since })
    if (this.#waiting.length > 0) this.#running ??= this.#run()
  }

  /** Waits for what was taken. */
  async close(): Promise<void> {
    await this.#running
    await this.#connection?.close()
  }

  async #run(): Promise<void> {
    while (this.#waiting.length + this.#blocked.length > 0) {
      await this.#write(this.#waiting.splice(0, groupSize))
      await this.#write(this.#blocked.splice(0, 1), true)
    }
    this.#running = undefined
  }

  async #write(taken: Taken[], isHurried = false): Promise<void> {
    let group = taken
    for (let waitMs = firstWaitMs; group.length > 0; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
      try {
        return this.#services.send(
          await this.#commit(
            group.map(({ write }) => write),
            isHurried,
          ),
        )
      } catch (error) {
        if (error instanceof Refused) return await this.#writeApart(group, error, isHurried)
        if (error instanceof Blocked) return await this.#passOver(group, error)
        const found = error instanceof InDoubt ? await this.#hasHappened(error) : error
        if (found === true) return this.#services.send((error as InDoubt).answers)
        if (found !== false) {
          const left = this.#afterFault(group, found)
          if (left === null) return
          group = left
        }
        await pause(waitMs)
      }
    }
  }

  async #commit(writes: Write[], isHurried: boolean): Promise<Answer[]> {
    const startedAt = performance.now()
    if (this.#connection?.isLost) this.#connection = undefined
    this.#connection ??= await this.#services.open()
    const as = writes.findLast((write) => write.as !== undefined)?.as
    // A node that leaves keeps its row until then.
    const node = as ?? this.#node
    const change: Fence['change'] = as === undefined || as === this.#node ? null : as === null ? 'removed' : 'added'
    const fence = node === null ? null : { node, group: ++this.#group, change }
    const answers = await commitGroup(this.#connection, { writes, fence, isHurried, ...this.#services })
    this.#node = as === null ? null : node
    this.#services.metrics.commits.observe((performance.now() - startedAt) / 1000)
    this.#services.metrics.commitBatches.observe(writes.length)
    return answers
  }

  /** In their order, without the one that was refused: what those before it have done may be why. */
  async #writeApart(group: Taken[], { batch, cause, statement }: Refused, isHurried: boolean): Promise<void> {
    const [refused] = group.slice(batch, batch + 1)
    if (group.length === 1) return this.#services.send([{ id: (refused as Taken).write.id, error: threadErrorOf(cause, statement) }])
    for (const part of [group.slice(0, batch), group.slice(batch, batch + 1), group.slice(batch + 1)]) await this.#write(part, isHurried)
  }

  /** The others do not wait for what is blocked, which is tried again after them. */
  async #passOver(group: Taken[], { batches, cause }: Blocked): Promise<void> {
    const blocked = group.filter((_, place) => batches.includes(place))
    this.#blocked.push(...this.#refuseOverdue(blocked, threadErrorOf(cause, 0)))
    await this.#write(
      group.filter((each) => !blocked.includes(each)),
      true,
    )
  }

  /** What is still to be tried after a fault that concerns all; null: nothing, now or later. */
  #afterFault(group: Taken[], error: unknown): Taken[] | null {
    this.#services.metrics.failedCommits.add()
    const fault = threadErrorOf(error, 0)
    if (fault.kind !== 'unavailable') {
      this.#refuse(group, { ...fault, kind: fault.kind === 'other' ? 'unwritten' : fault.kind })
      return null
    }
    this.#waiting = this.#refuseOverdue(this.#waiting, fault)
    this.#blocked = this.#refuseOverdue(this.#blocked, fault)
    return this.#refuseOverdue(group, fault)
  }

  /** @returns those that are not overdue */
  #refuseOverdue(taken: Taken[], error: ThreadError): Taken[] {
    this.#refuse(taken.filter(isOver), error)
    return taken.filter((each) => !isOver(each))
  }

  #refuse(taken: Taken[], error: ThreadError): void {
    this.#services.send(taken.map(({ write: { id } }) => ({ id, error })))
  }

  /**
   * Whether a commit has happened whose answer was lost: asked until the server says. Its row is locked, so an earlier connection that the
   * server still holds open has ended with it by then, one way or the other. What cannot be known is an error.
   */
  async #hasHappened({ fence, cause }: InDoubt): Promise<boolean | Error> {
    if (fence === null)
      return new Error(`The connection to the database was lost during a commit, which may have happened: ${String(cause)}`)
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
      try {
        if (this.#connection?.isLost) this.#connection = undefined
        this.#connection ??= await this.#services.open()
        const { rows } = await this.#connection.run('select group_no from node where name = $1 for update', [fence.node])
        const row = rows?.[0]
        if (!row && fence.change === 'removed') this.#node = null
        if (!row) return fence.change === null ? new Fenced(fence.node) : fence.change === 'removed'
        if (row['group_no'] !== fence.group) return false
        this.#node = fence.node
        return true
      } catch (error) {
        this.#afterFault([], error instanceof LostConnection ? error : new LostConnection(error))
        await pause(waitMs)
      }
    }
  }
}
