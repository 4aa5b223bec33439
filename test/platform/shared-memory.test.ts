import { expect, test } from 'vitest'
import { noteShared, sharedBytes } from '../../src/platform/shared-memory.ts'

const mebibyte = 1024 * 1024
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('unused shared memory is collected after some more of it was created', async () => {
  const forgotten = new WeakRef(sharedBytes(mebibyte))
  await nextTurn()
  for (let i = 0; i < 1000; i++) noteShared(1000)
  await nextTurn()
  expect(forgotten.deref()).toBeDefined()
  await nextTurn()
  for (let i = 0; i < 64; i++) noteShared(mebibyte)
  await nextTurn()
  expect(forgotten.deref()).toBeUndefined()
})
