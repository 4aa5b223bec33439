/**
 * A store thread: the writer commits what has gathered since its last commit as one group, then answers reads;
 * a reader only reads. Started by sqlite-database.ts.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { messageOf } from '../errors.ts'
import type { Row, Value } from './database.ts'
import { GroupCommit, threadErrorOf } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { lockDirectory, openReader, openWriter } from './sqlite-connection.ts'
import { noteShared, sharedBytes } from '../shared-memory.ts'
import { openId } from './thread-messages.ts'
import type { Answer, NumberedStatement, Request, Requests, ThreadData, ThreadError } from './thread-messages.ts'

/** Batches of one commit: bounded, so that one commit never holds the others up for long. */
const groupSize = 256
/** Larger values leave in shared memory, which is not copied again on its way to the delivery thread. */
const shareFrom = 1024

const port = parentPort as MessagePort
const { directory, role } = workerData as ThreadData

const answers: Answer[] = []
const send = (): void => {
  if (answers.length > 0) port.postMessage(answers.splice(0))
}

try {
  const close = serve()
  process.once('exit', close)
  answers.push({ id: openId, done: true })
} catch (error) {
  answers.push({ id: openId, error: threadErrorOf(error, 0) })
}
send()

function serve(): () => void {
  const lock = role === 'writer' ? lockDirectory(directory) : undefined
  const connection = role === 'writer' ? openWriter(directory) : openReader(directory)
  if (role === 'writer') migrate(connection)
  const statements = new PreparedStatements(connection)
  const group = new GroupCommit(connection, statements)
  let waiting: Request[] = []
  let scheduled = false

  const close = (): void => {
    connection.close()
    lock?.close()
  }

  const run = (): void => {
    scheduled = false
    const requests = waiting
    waiting = []
    const writes = requests.filter((request) => request.type === 'write')
    for (let i = 0; i < writes.length; i += groupSize) {
      const together = writes.slice(i, i + groupSize)
      for (const { batch } of together) noteBlobs(batch)
      const results = group.commit(together.map((request) => request.batch))
      together.forEach((request, place) => answers.push({ id: request.id, ...(results[place] as (typeof results)[number]) }))
      send()
    }
    for (const request of requests) if (request.type !== 'write') answerOther(request)
    send()
  }

  const answerOther = (request: Exclude<Request, { type: 'write' }>): void => {
    const { id } = request
    try {
      if (request.type === 'read') {
        const [number, values] = request.statement
        answers.push({ id, rows: statements.at(number).all(values).map(shareBlobs) })
      } else if (request.type === 'backup') {
        const { file } = request
        group.spareCopy(connection.backup(file)).then(
          () => port.postMessage([{ id, done: true }]),
          (error: unknown) => port.postMessage([{ id, error: backupErrorOf(error, file) }]),
        )
      } else {
        close()
        answers.push({ id, done: true })
        send()
        port.close()
      }
    } catch (error) {
      answers.push({ id, error: threadErrorOf(error, 0) })
    }
  }

  port.on('message', ({ texts, requests }: Requests) => {
    statements.learn(texts)
    waiting.push(...requests)
    if (!scheduled) {
      scheduled = true
      setImmediate(run)
    }
  })
  return close
}

/** What fails here is the writing of the copy: it says nothing about the database, which must go on. */
const backupErrorOf = (error: unknown, file: string): ThreadError => ({
  kind: 'configuration',
  message: `The backup cannot be written to ${file}: ${messageOf(error)}.`,
  statement: 0,
})

function noteBlobs(batch: NumberedStatement[]): void {
  for (const [, values] of batch) {
    for (const value of values) {
      if (value instanceof Uint8Array) noteShared(value.length)
    }
  }
}

function shareBlobs(row: Row): Row {
  for (const name in row) {
    const value = row[name] as Value
    if (value instanceof Uint8Array && value.length >= shareFrom) {
      const shared = sharedBytes(value.length)
      shared.set(value)
      row[name] = shared
    }
  }
  return row
}
