import { onTestFinished } from 'vitest'
import { silentLog } from '../../src/platform/log.ts'
import type { Database, Statement } from '../../src/platform/store/database.ts'
import { LeaseDeadline } from '../../src/platform/store/lease-deadline.ts'
import { LeasedNodes } from '../../src/platform/store/leased-nodes.ts'
import type { SharedSettings } from '../../src/platform/store/nodes.ts'
import { settableClock, type SettableClock } from './settable-clock.ts'

/** A node with a clock of its own, whose database can be cut off. */
export interface TestNode {
  nodes: LeasedNodes
  clock: SettableClock
  /** Why it had to end; null if it had not. */
  buried: Error | null
  /** The tables that others may have added rows to. */
  heard: string[]
  /** True while the database does not answer: batches wait. */
  cutOff(isCutOff: boolean): void
  /** Resolves when no batch is under way. */
  idle(): Promise<void>
}

interface LeasedNodeOptions {
  /** Default: true. */
  serves?: boolean
  newestKey?: string
  isWatching?: boolean
  /** Those that differ from the usual ones. */
  settings?: Partial<SharedSettings>
  clock?: SettableClock
}

const settings = { mode: 'live', hostname: 'mail.example', baseUrl: 'https://mail.example', returnPathDomain: 'mail.example' }

/** Joins a database that others may have joined. */
export async function leasedNode(db: Pick<Database, 'write'>, options: LeasedNodeOptions = {}): Promise<TestNode> {
  const { isWatching = true, clock = settableClock() } = options
  let open = Promise.withResolvers<void>()
  open.resolve()
  const pending = new Set<Promise<unknown>>()
  const write = (batch: Statement[]) => {
    const written = open.promise.then(() => db.write(batch))
    pending.add(written)
    written.catch(() => {}).finally(() => pending.delete(written))
    return written
  }
  const deadline = new LeaseDeadline(undefined, () => clock.steady())
  const node: TestNode = {
    nodes: await LeasedNodes.join(
      { db: { write }, clock, deadline, heard: (table) => node.heard.push(table) },
      {
        version: '1',
        machine: 'here',
        settings: { ...settings, ...options.settings },
        serves: options.serves ?? true,
        newestKey: options.newestKey ?? 'first',
        log: silentLog,
        onBuried: (error) => (node.buried = error),
      },
    ),
    clock,
    buried: null,
    heard: [],
    cutOff(isCutOff) {
      open.resolve()
      if (isCutOff) open = Promise.withResolvers()
    },
    async idle() {
      do {
        await Promise.allSettled(pending)
        await new Promise(setImmediate)
      } while (pending.size > 0)
    },
  }
  if (isWatching) await node.nodes.watch()
  onTestFinished(() => {
    node.cutOff(false)
    return node.nodes.leave().catch(() => {})
  })
  return node
}

/** Waits for work, such as joining, for which time has to pass by these clocks. */
export async function whileTimePasses<T>(db: Database, clocks: SettableClock[], work: Promise<T>): Promise<T> {
  let isDone = false
  void work.catch(() => {}).finally(() => (isDone = true))
  while (!isDone) {
    for (const clock of clocks) clock.advance(500)
    // What was written meanwhile is answered, beats too.
    for (let times = 0; times < 2; times++) await db.write([{ sql: 'select 1' }]).then(() => new Promise(setImmediate))
  }
  return work
}

/** Lets time pass for these nodes, a second at a time; for others it stands still, as if they were stopped. */
export async function pass(seconds: number, ...nodes: TestNode[]): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    for (const { clock } of nodes) clock.advance(1_000)
    await Promise.all(nodes.map((node) => node.idle()))
  }
}

/** The same while the database answers none of them. */
export async function passCutOff(seconds: number, ...nodes: TestNode[]): Promise<void> {
  for (const node of nodes) node.cutOff(true)
  for (const { clock } of nodes) clock.advance(seconds * 1_000)
  for (const node of nodes) node.cutOff(false)
  await Promise.all(nodes.map((node) => node.idle()))
}
