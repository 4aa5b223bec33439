import { expect, test } from 'vitest'
import { CarefulStart } from '../../../src/mail-out/delivery/careful-start.ts'

const key = 'provider:google from any address'
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('after a stop one job has its turn, then two at a time, once twenty messages were accepted', async () => {
  const careful = new CarefulStart()
  expect([careful.enter(key), careful.isOver]).toEqual([null, true])
  careful.begin(key)
  const leaves: (() => void)[] = []
  for (let i = 0; i < 6; i++) void careful.enter(key)?.then((leave) => leaves.push(leave))
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
  for (let i = 0; i < 30; i++) void careful.enter(key)?.then(() => served++)
  expect(careful.enter('site:mx.rcpt.example from any address')).toBe(null)
  for (let i = 0; i < 20 * 20 * 20; i++) careful.accepted(key)
  await turn()
  expect([served, careful.isOver]).toEqual([30, true])
})
