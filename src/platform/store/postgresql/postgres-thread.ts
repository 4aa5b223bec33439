/** The store thread of a database on a server: it writes, and reads. Started by postgres-database.ts. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { metricsOf } from '../../metrics/metrics.ts'
import { openId, type Answer, type Request, type Requests } from '../thread-messages.ts'
import { GroupWriter } from './group-writer.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { openErrorOf, threadErrorOf } from './postgres-errors.ts'
import { PostgresReader } from './postgres-reader.ts'
import { prepareDatabase } from './postgres-schema.ts'
import { postgresPlace } from './postgres-url.ts'

/** How to start it. */
export interface PostgresThreadData {
  /** With the password. */
  url: string
  /** Where it counts its commits; default: nowhere. */
  sharedCells?: SharedArrayBuffer | undefined
  /** What becomes of a database with an older schema; default: `upgrade`. A newer one is refused. */
  olderSchema?: 'upgrade' | 'refuse' | 'keep' | undefined
}

const port = parentPort as MessagePort
const { url, sharedCells, olderSchema = 'upgrade' } = workerData as PostgresThreadData

const send = (answers: Answer[]): void => {
  if (answers.length > 0) port.postMessage(answers)
}

void start()

async function start(): Promise<void> {
  try {
    await serve()
    send([{ id: openId, done: true }])
  } catch (error) {
    send([{ id: openId, error: threadErrorOf(error, 0) }])
    port.close()
  }
}

async function serve(): Promise<void> {
  const place = postgresPlace(url)
  const texts: string[] = []
  const textOf = (number: number): string => texts[number] as string
  const open = (): Promise<PostgresConnection> => PostgresConnection.open(place)
  try {
    await prepareDatabase(place, { olderSchema, onUpgrade: (upgrade) => send([{ id: openId, upgrade }]) })
    const writer = new GroupWriter({ open, textOf, send, metrics: metricsOf(sharedCells) })
    const reader = new PostgresReader({ open, textOf })
    const slowReader = new PostgresReader({ open: () => PostgresConnection.open(place, { isPatient: true }), textOf })
    port.on('message', ({ texts: more, requests }: Requests) => {
      texts.push(...more)
      writer.take(requests.filter((request) => request.type === 'write'))
      for (const request of requests) if (request.type === 'read') void answerRead(request, request.isSlow ? slowReader : reader)
      const close = requests.find(({ type }) => type === 'close')
      if (close) void end(close.id, [writer, reader, slowReader])
    })
  } catch (error) {
    throw openErrorOf(error, place)
  }
}

async function answerRead({ id, statement }: Extract<Request, { type: 'read' }>, reader: PostgresReader): Promise<void> {
  try {
    send([{ id, rows: await reader.read(statement) }])
  } catch (error) {
    send([{ id, error: threadErrorOf(error, 0) }])
  }
}

async function end(id: number, parts: { close(): Promise<void> }[]): Promise<void> {
  await Promise.all(parts.map((part) => part.close()))
  send([{ id, done: true }])
  port.close()
}
