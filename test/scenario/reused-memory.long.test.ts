import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx, type MxAction } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startedThreads } from '../support/started-threads.ts'
import { startTestRelay } from '../support/start-relay.ts'

const messages = 80
const clients = 6
const retryMs = 600_000

/** Every line names its message, so no byte of it can be another's unseen. */
const bodyOf = (number: number): string => {
  const lines = 150 + ((number * 733) % 2_000)
  return Array.from({ length: lines }, (_, line) => `message ${number} line ${line} ${'.:-='.repeat(12)}\r\n`).join('')
}

const contentOf = (number: number): string =>
  `From: app@sender.example\r\nTo: u${number}@rcpt.example\r\nSubject: ${number}\r\n\r\n${bodyOf(number)}`

const bodyIn = (content: string): string => content.slice(content.indexOf('\r\n\r\n') + 4)

test('no byte of one message is stored or sent with another, whatever hosts do meanwhile and though a thread dies', async () => {
  const threads = startedThreads()
  const sent: string[] = []
  let transfers = 0
  /** Of each five transfers one is reset in the middle, and one is answered before its end. */
  const begun = new Map<number, MxAction | undefined>()
  const mx = await startFakeMx({
    host: '127.0.0.2',
    on: {
      data: ({ number }) => {
        const place = transfers++ < messages ? transfers % 5 : 0
        begun.set(number, place === 1 ? 'reset' : place === 2 ? { reply: '451 4.3.0 Not now', end: 'close' } : undefined)
        return undefined
      },
      content: (_, { number }) => begun.get(number),
      dot: ({ data }) => {
        sent.push(data.toString('latin1'))
        return undefined
      },
    },
  })
  onTestFinished(() => mx.close())
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] as [number, string][] }, 'mx.rcpt.example': { a: [mx.host] } }
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, zone)
  onTestFinished(() => relay.stop())

  const submit = async (first: number): Promise<void> => {
    const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
    for (let number = first; number < messages; number += clients) {
      const reply = await client.send(contentOf(number).slice(0, -2), { from: 'app@sender.example', to: [`u${number}@rcpt.example`] })
      expect(reply.last).toMatch(/^250 /)
      if (number === messages / 2) void threads.find(({ threadName }) => threadName === 'delivery')?.terminate()
    }
    client.close()
  }
  await Promise.all(Array.from({ length: clients }, (_, first) => submit(first)))

  const { db } = relay.relay.services
  const stored = await db.read<{ subject: string; bytes: Uint8Array }>(
    'select m.subject, c.bytes from message m join content c on c.message_id = m.id order by m.id, c.chunk',
  )
  const bySubject = Map.groupBy(stored, ({ subject }) => subject)
  for (let number = 0; number < messages; number++) {
    const bytes = Buffer.concat((bySubject.get(String(number)) ?? []).map((chunk) => chunk.bytes))
    expect(bodyIn(bytes.toString('latin1')) === bodyOf(number), `message ${number} as it is stored`).toBe(true)
  }

  const left = async (): Promise<unknown> => {
    relay.clock.advance(retryMs)
    return db.read("select forward_path, state, last_response from recipient where state <> 'delivered'")
  }
  await expect.poll(left, { timeout: 60_000 }).toEqual([])

  const sentNumbers = sent.map((content) => {
    const number = Number(/^Subject: (\d+)\r$/m.exec(content)?.[1])
    expect(bodyIn(content) === bodyOf(number), `message ${number} as it was sent`).toBe(true)
    return number
  })
  expect(new Set(sentNumbers).size).toBe(messages)
})
