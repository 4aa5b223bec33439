import { expect, test } from 'vitest'
import { CarefulStart } from '../../../src/mail-out/delivery/careful-start.ts'

const key = 'provider:google from any address'
const hour = 3_600_000
const usual = { account: 1, isUrgent: false }
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('after a stop one job has its turn, then two at a time, once twenty messages were accepted', async () => {
  const careful = new CarefulStart()
  expect([careful.enter(key, usual), careful.isOver]).toEqual([null, true])
  careful.begin(key)
  const leaves: (() => void)[] = []
  for (let i = 0; i < 6; i++) void careful.enter(key, usual)?.then((leave) => leave && leaves.push(leave))
  await turn()
  expect(leaves).toHaveLength(1)
  leaves[0]?.()
  await turn()
  expect(leaves).toHaveLength(2)
  for (let i = 0; i < 20; i++) careful.accepted(key)
  await turn()
  expect(leaves).toHaveLength(3)
  for (let i = 0; i < 40; i++) careful.accepted(key)
  await turn()
  expect(leaves).toHaveLength(4)
  careful.begin(key)
  for (const leave of leaves.slice(1)) leave()
  await turn()
  expect(leaves).toHaveLength(5)
})

test('what has proved itself for long has no limit, and other groups have none', async () => {
  const careful = new CarefulStart()
  careful.begin(key)
  let served = 0
  for (let i = 0; i < 30; i++) void careful.enter(key, usual)?.then(() => served++)
  expect(careful.enter('site:mx.rcpt.example from any address', usual)).toBe(null)
  for (let i = 0; i < 20 * 20 * 20; i++) careful.accepted(key)
  await turn()
  expect([served, careful.isOver]).toEqual([30, true])
})

test('urgent mail goes first but has only every other turn, and accounts take turns', async () => {
  const careful = new CarefulStart()
  careful.begin(key)
  const served: string[] = []
  const job = async (name: string, account: number, isUrgent = false): Promise<void> => {
    const leave = await careful.enter(key, { account, isUrgent })
    served.push(name)
    leave?.()
  }
  const first = await careful.enter(key, usual)
  const jobs = [job('much 1', 1), job('much 2', 1), job('much 3', 1), job('little', 2), job('code 1', 3, true), job('code 2', 3, true)]
  first?.()
  await Promise.all(jobs)
  expect(served).toEqual(['code 1', 'much 1', 'code 2', 'little', 'much 2', 'much 3'])
})

test('a job whose turn does not come in time goes without, and takes nobody’s place', async () => {
  const careful = new CarefulStart(1)
  careful.begin(key)
  const leave = await careful.enter(key, usual)
  expect(await careful.enter(key, usual)).toBeNull()
  leave?.()
  expect(await careful.enter(key, usual)).not.toBeNull()
})

test('however little mail there is, there is no limit any more a day after the last stop', async () => {
  let now = 0
  const careful = new CarefulStart(undefined, () => now)
  const other = 'site:mx.rcpt.example from any address'
  careful.begin(key)
  careful.begin(other)
  const leaves = [await careful.enter(key, usual), await careful.enter(other, usual)]
  const waiting = careful.enter(key, usual)
  now = 12 * hour
  careful.begin(other)
  now = 24 * hour
  expect(careful.enter(key, usual)).toBeNull()
  expect([leaves.length, await waiting, careful.isOver]).toEqual([2, expect.any(Function), false])
  now = 36 * hour
  expect([careful.enter(other, usual), careful.isOver]).toEqual([null, true])
})
