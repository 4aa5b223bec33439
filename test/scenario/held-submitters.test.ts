import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

const submitters = 150

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

  const lengths: Promise<number>[] = []
  mx.on = { dot: () => void lengths.push(inQueue('rcpt.example')) }
  // The relay's clock stands still: nobody gives up waiting.
  const sent = Array.from({ length: submitters }, (_, i) => [relay.send(`u${i}@rcpt.example`), relay.send(`u${i}@dead.example`)])
  await Promise.all(sent.flat())
  await mx.waitForMessages(submitters + 1)
  expect(Math.max(...(await Promise.all(lengths)))).toBe(0)
  expect(await inQueue('dead.example')).toBe(submitters + 1)
})
