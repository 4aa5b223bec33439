import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

/** More than one destination may have in hand. */
const submitters = 100

test('many submitters wait a little for a destination that takes mail, so its mail does not stand in the queue; nobody waits for a dead one', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const zone = {
    'rcpt.example': { mx: [[10, 'mx.rcpt.example']] as [number, string][] },
    'mx.rcpt.example': { a: ['127.0.0.2'] },
    'dead.example': { mx: [[10, 'mx.dead.example']] as [number, string][] },
    'mx.dead.example': { a: ['127.0.0.3'] },
  }
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, zone)
  onTestFinished(() => relay.stop())
  const { db } = relay.relay.services
  const inQueue = async (destination: string) => {
    const [row] = await db.read<{ n: number }>(
      `select count(*) as n from recipient where destination = :destination and owner is null and state in ('queued', 'deferred')`,
      { destination },
    )
    return row?.n ?? 0
  }
  // Now both are known for what they are.
  await Promise.all([relay.send('first@rcpt.example'), relay.send('first@dead.example')])
  await mx.waitForMessages(1)
  await expect.poll(() => inQueue('dead.example')).toBe(1)

  const isFree = Promise.withResolvers<void>()
  const lengths: Promise<number>[] = []
  mx.on = {
    dot() {
      lengths.push(inQueue('rcpt.example'))
      return { reply: '250 2.0.0 Ok', after: isFree.promise }
    },
  }
  let answered = 0
  // The relay's clock stands still: nobody gives up waiting.
  const held = Array.from({ length: submitters }, (_, i) => relay.send(`u${i}@rcpt.example`).then(() => answered++))
  await Promise.all(Array.from({ length: 20 }, (_, i) => relay.send(`u${i}@dead.example`)))
  await expect.poll(() => answered).toBe(64)
  isFree.resolve()
  await Promise.all(held)
  await mx.waitForMessages(submitters + 1)
  expect(Math.max(...(await Promise.all(lengths)))).toBe(0)
  expect(await inQueue('dead.example')).toBe(21)
})
