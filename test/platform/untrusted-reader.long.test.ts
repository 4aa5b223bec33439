import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { UntrustedReader } from '../../src/platform/untrusted-reader.ts'

let reader: { stop(): Promise<void> }
afterEach(() => reader.stop())
const load = async () => [Buffer.from('a document')]

type Request = { busyMs: number; idleMs: number; signal?: NodeJS.Signals }

/** Of a child that does what it is asked for. */
function start(timeoutMs: number): UntrustedReader<Request, string> {
  const started = new UntrustedReader<Request, string>({
    child: new URL('../support/untrusted-reader-process.ts', import.meta.url),
    timeoutMs,
    maxOldSpaceMb: 64,
  })
  reader = started
  return started
}

it("a child that cannot be started is not the document's fault", async () => {
  const none = new UntrustedReader({ child: new URL('./no-such-module.ts', import.meta.url), timeoutMs: 2000, maxOldSpaceMb: 64 })
  reader = none
  await expect(none.read(load, null)).rejects.toMatchObject({ code: 'service_unavailable' })
  await expect(none.read(load, null)).rejects.toMatchObject({ code: 'service_unavailable' })
})

it('time in which others use the processor does not count', async () => {
  await expect(start(500).read(load, { busyMs: 0, idleMs: 800 })).resolves.toMatchObject({ answer: 'a document' })
})

it('nor does time in which this process is held up while an answer waits to be read', async () => {
  const started = start(200)
  await started.read(load, { busyMs: 0, idleMs: 0 })
  const reading = started.read(load, { busyMs: 20, idleMs: 0 })
  await pause(5)
  await new Promise<void>((resolve) =>
    setImmediate(() => {
      for (const begin = performance.now(); performance.now() - begin < 1_000;);
      resolve()
    }),
  )
  await expect(reading).resolves.toMatchObject({ answer: 'a document' })
})

it.each([
  ['keeps the processor busy', { busyMs: 600, idleMs: 0 }],
  ['does nothing and does not end either', { busyMs: 0, idleMs: 60_000 }],
])('a document whose reader %s is refused, and the next one is read', async (_, request) => {
  const started = start(300)
  const next = (): Promise<unknown> => started.read(load, { busyMs: 0, idleMs: 0 })
  const [first, second] = await Promise.allSettled([started.read(load, request), next()])
  expect(first).toMatchObject({ status: 'rejected', reason: { code: 'invalid_message', message: 'It could not be read within 300 ms.' } })
  expect(second).toMatchObject({ status: 'fulfilled', value: { answer: 'a document' } })
})

it.each([
  ['SIGKILL', 'service_unavailable'],
  ['SIGTERM', 'service_unavailable'],
  ['SIGINT', 'service_unavailable'],
  ['SIGABRT', 'invalid_message'],
  ['SIGSEGV', 'invalid_message'],
] as const)('a document whose reader ends by %s: %s', async (signal, code) => {
  const started = start(2_000)
  await expect(started.read(load, { busyMs: 0, idleMs: 60_000, signal })).rejects.toMatchObject({ code })
  await expect(started.read(load, { busyMs: 0, idleMs: 0 })).resolves.toMatchObject({ answer: 'a document' })
})

it('a reader killed before it has the whole document has not refused it', async () => {
  const killed = new UntrustedReader({
    child: new URL('../support/killed-reader-process.ts', import.meta.url),
    timeoutMs: 2000,
    maxOldSpaceMb: 64,
  })
  reader = killed
  await expect(killed.read(async () => [Buffer.alloc(20_000_000)], null)).rejects.toMatchObject({ code: 'service_unavailable' })
})
