/** A store thread: the writer, or a reader beside it. Started by sqlite-database.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { threadErrorOf } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { RequestServer } from './request-server.ts'
import { lockDirectory, openReader, openWriter } from './sqlite-connection.ts'
import { openId } from './thread-messages.ts'
import type { Answer, Requests, ThreadData } from './thread-messages.ts'

const port = parentPort as MessagePort
const { directory, role, busyTimeoutMs } = workerData as ThreadData

const send = (answers: Answer[]): void => port.postMessage(answers)

try {
  const close = serve()
  process.once('exit', close)
  send([{ id: openId, done: true }])
} catch (error) {
  send([{ id: openId, error: threadErrorOf(error, 0) }])
}

/** Takes requests until it is asked to close; the answer closes the database. */
function serve(): () => void {
  const lock = role === 'writer' ? lockDirectory(directory) : undefined
  const connection = role === 'writer' ? openWriter(directory, busyTimeoutMs) : openReader(directory)
  if (role === 'writer') migrate(connection)
  const close = (): void => {
    connection.close()
    lock?.close()
  }
  const server = new RequestServer(connection, {
    send,
    close() {
      close()
      // What is sent until then still leaves.
      setImmediate(() => port.close())
    },
  })
  port.on('message', (message: Requests) => server.take(message))
  return close
}
