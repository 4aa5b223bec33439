import Database from 'better-sqlite3'
import { newId } from '../src/platform/id.ts'
import { sendBurst, type Load } from './burst.ts'
import { cpuSeconds, residentMegabytes } from './process-figures.ts'
import { measureRound } from './round.ts'
import { startSink } from './sink.ts'
import { startSterna, type SternaPeer } from './sterna-peer.ts'

export interface BacklogFigures {
  messages: number
  /** From the start of the process. */
  portsOpenMs: number
  /** From there too, to another destination than the dead one. */
  firstDeliveryMs: number
  /** To that destination, from the first command to the arrival. */
  deliveredP50Ms: number
  deliveredP99Ms: number
  idleMb: number
  residentMb: number
  /** Of one core, while no mail comes. */
  idleCpu: number
}

/** An address of the loopback network at which nothing listens: connections are refused. */
const deadHost = '127.0.0.99'
const zone = {
  'dead.example': { mx: [[10, 'host.dead.example']] as [number, string][], ttl: 3600 },
  'host.dead.example': { a: [deadHost], ttl: 3600 },
}

const idleSeconds = 20

/** A server that starts with so many messages overdue for a dead host. */
export async function measureBacklog(messages: number, load: Load): Promise<BacklogFigures> {
  const sink = await startSink('127.0.0.2')
  const peer = await startSterna(sink, { recipientDomains: load.recipientDomains, zone })
  try {
    const first = await submitPattern(peer, 'u@dead.example')
    let startedAt = 0
    await peer.restart((file) => {
      multiply(file, first, messages)
      startedAt = Date.now()
    })
    const portsOpenMs = Date.now() - startedAt
    const { received } = await sendBurst(peer, sink, { ...load, messages: 1 })
    const round = await measureRound(peer, sink, load)
    await seconds(idleSeconds)
    const before = cpuSeconds(peer.pids)
    await seconds(idleSeconds)
    return {
      messages,
      portsOpenMs,
      firstDeliveryMs: received.lastAt - startedAt,
      deliveredP50Ms: round.endToEndP50,
      deliveredP99Ms: round.endToEndP99,
      residentMb: round.residentMb,
      idleMb: residentMegabytes(peer.pids),
      idleCpu: (cpuSeconds(peer.pids) - before) / idleSeconds,
    }
  } finally {
    await peer.stop()
    sink.stop()
  }
}

const seconds = (count: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, count * 1000))

/** The id of an email whose rows are the pattern of the others. */
export async function submitPattern({ httpPort, token }: SternaPeer, to: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${httpPort}/api/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      from: 'bench@sender.example',
      to,
      subject: 'Your receipt',
      text: 'Thank you for your order.',
    }),
  })
  if (!response.ok) throw new Error(`the first email was refused: ${await response.text()}`)
  return ((await response.json()) as { id: string }).id
}

/** Copies the rows that the server wrote for an email, whatever their columns, and makes all of them overdue. */
export function multiply(file: string, messageId: string, copies: number): void {
  const database = new Database(file)
  const copy = (table: string, key: string, replaced: Record<string, string>): Database.Statement => {
    const columns = (database.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name)
    const values = columns.map((column) => replaced[column] ?? column)
    return database.prepare(
      `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ${table} where ${key} = :pattern`,
    )
  }
  const statements = [
    copy('message', 'id', { id: ':messageId' }),
    copy('content', 'message_id', { message_id: ':messageId' }),
    copy('recipient', 'message_id', { id: ':recipientId', message_id: ':messageId', state: "'deferred'", due_at: ':dueAt', owner: 'null' }),
  ]
  const some = database.transaction((count: number) => {
    const now = Date.now()
    for (let i = 0; i < count; i++) {
      const row = { pattern: messageId, messageId: newId('em', now), recipientId: newId('rcp', now), dueAt: now - i }
      for (const statement of statements) statement.run(row)
    }
  })
  for (let done = 0; done < copies; done += batch) some(Math.min(batch, copies - done))
  database.close()
}

const batch = 20_000

export function backlogRows(figures: BacklogFigures): string[][] {
  return [
    [`${figures.messages} messages overdue for a dead host`, ''],
    ['ports open after the start, s', (figures.portsOpenMs / 1000).toFixed(1)],
    ['first delivery to another host after the start, s', (figures.firstDeliveryMs / 1000).toFixed(1)],
    ['accepted to delivered there, p50/p99 ms', `${figures.deliveredP50Ms.toFixed(0)}/${figures.deliveredP99Ms.toFixed(0)}`],
    ['memory under load, MB', figures.residentMb.toFixed(0)],
    ['memory idle, MB', figures.idleMb.toFixed(0)],
    ['CPU idle, of a core', `${(figures.idleCpu * 100).toFixed(1)} %`],
  ]
}
