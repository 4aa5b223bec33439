import { expect, test } from 'vitest'
import { createLog, silentLog } from '../../../src/platform/log.ts'
import { StorageFullError, StorageUnavailableError } from '../../../src/platform/store/database.ts'
import { WorkLoop } from '../../../src/platform/store/work-loop.ts'

test('work that is asked for while it is done is done once more, and never twice at a time', async () => {
  let [runs, atOnce, most] = [0, 0, 0]
  const gates: (() => void)[] = []
  const loop = new WorkLoop(silentLog, {
    fault: 'no',
    async run() {
      runs++
      most = Math.max(most, ++atOnce)
      await new Promise<void>((resolve) => gates.push(resolve))
      atOnce--
    },
  })
  loop.wake()
  loop.wake()
  await expect.poll(() => runs).toBe(1)
  loop.wake()
  loop.wake()
  gates[0]?.()
  await expect.poll(() => runs).toBe(2)
  gates[1]?.()
  await loop.stop()
  loop.wake()
  expect([runs, most]).toEqual([2, 1])
})

test('work that fails is repeated; a full disk and a server that is away are not logged, since health reports them', async () => {
  const lines: string[] = []
  const failures = [new Error('odd'), new StorageFullError(), new StorageUnavailableError()]
  let isDone = false
  const loop = new WorkLoop(
    createLog('error', (line) => lines.push(line)),
    {
      fault: 'it could not be done',
      async run() {
        const failure = failures.shift()
        if (failure) throw failure
        isDone = true
      },
    },
  )
  loop.wake()
  await expect.poll(() => isDone).toBe(true)
  expect(lines).toEqual([expect.stringContaining('it could not be done; trying again')])
})

test('stop waits for what is under way', async () => {
  const happened: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const loop = new WorkLoop(silentLog, {
    fault: 'no',
    async run() {
      happened.push('begun')
      await promise
      happened.push('over')
    },
  })
  loop.wake()
  await expect.poll(() => happened).toEqual(['begun'])
  const stopped = loop.stop().then(() => happened.push('stopped'))
  resolve()
  await stopped
  expect(happened).toEqual(['begun', 'over', 'stopped'])
})
