import { Worker } from 'node:worker_threads'
import { SternaError } from '../errors.ts'

/** What is shown of a message's content. */
export interface ParsedMessage {
  html: string | null
  text: string | null
  /** `size` in bytes, decoded. */
  attachments: { filename: string | null; contentType: string; size: number; contentId: string | null }[]
}

export interface ParserRequest {
  id: number
  bytes: Uint8Array
}

export type ParserAnswer = { id: number; message: ParsedMessage } | { id: number; fault: string }

export interface MessageParser {
  /**
   * Reads a message that nobody has vouched for.
   * @throws SternaError `invalid_message` where it cannot be read within the limits of time and memory
   */
  parse(bytes: Uint8Array): Promise<ParsedMessage>
  stop(): Promise<void>
}

interface Waiting {
  bytes: Uint8Array
  resolve: (message: ParsedMessage) => void
  reject: (error: Error) => void
}

/**
 * Starts the thread that reads untrusted MIME, one message after the other. One that takes too long or too much memory
 * costs the thread its life and nobody else anything: a new thread goes on with the next.
 */
export function startMessageParser({ timeoutMs = 5_000, memoryMb = 256 } = {}): MessageParser {
  const waiting: Waiting[] = []
  let worker: Worker | undefined
  let current: (Waiting & { timer: NodeJS.Timeout }) | undefined
  let lastId = 0

  const next = (): void => {
    const first = waiting.shift()
    if (!first) return
    worker ??= start()
    current = { ...first, timer: setTimeout(() => giveUp('it takes too long'), timeoutMs) }
    worker.postMessage({ id: ++lastId, bytes: first.bytes } satisfies ParserRequest)
  }

  const finish = (): Waiting | undefined => {
    const ended = current
    clearTimeout(ended?.timer)
    current = undefined
    return ended
  }

  const giveUp = (reason: string): void => {
    void worker?.terminate()
    worker = undefined
    finish()?.reject(unreadable(reason))
    next()
  }

  const start = (): Worker => {
    const started = new Worker(new URL('./parser-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      name: 'parser',
    })
    started.unref()
    started.on('message', (answer: ParserAnswer) => {
      if (answer.id !== lastId) return
      const ended = finish()
      if ('message' in answer) ended?.resolve(answer.message)
      else ended?.reject(unreadable(answer.fault))
      next()
    })
    started.on('error', () => worker === started && giveUp('it takes too much memory'))
    return started
  }

  return {
    parse(bytes) {
      const { promise, resolve, reject } = Promise.withResolvers<ParsedMessage>()
      waiting.push({ bytes, resolve, reject })
      if (!current) next()
      return promise
    },
    async stop() {
      for (const { reject } of waiting.splice(0)) reject(unreadable('the server is stopping'))
      finish()?.reject(unreadable('the server is stopping'))
      await worker?.terminate()
    },
  }
}

const unreadable = (reason: string): SternaError => new SternaError('invalid_message', `The message cannot be read: ${reason}.`)
