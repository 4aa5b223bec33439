/**
 * Many connections that hardly send anything, and come again when they are sent away. A process of its own, started by
 * slow-attackers.ts: it is told `{ port, protocol, sockets, addresses }`, then asked for its figures now and then.
 */
import { connect, type Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import type { SlowAttack, SlowFigures } from './slow-attackers.ts'

/** Something from each connection every so often, ms. */
const dripMs = 5_000
/** What comes of a body with a key: fast enough to go on for ever. */
const bodyDrip = 'x'.repeat((dripMs / 1000) * 1_200)
/** Who was sent away comes again after so long, ms. */
const againMs = 10_000
/** New connections in a second. */
const perSecond = 2_000

/** What each begins with; a byte now and then follows, and never the end. */
const beginnings: Record<SlowAttack['protocol'], string[]> = {
  http: ['POST /session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{'],
  submission: ['EHLO slow.example\r\nNOOP', 'EHLO slow.example\r\n', ''],
  'return path': ['EHLO slow.example\r\nMAIL FROM:<>\r\nRCPT TO:<postmaster>\r\nDATA\r\nSubject: slow', 'EHLO slow.example\r\n', ''],
}

/** The same with a key. */
const known = (protocol: SlowAttack['protocol'], token: string): string[] =>
  protocol === 'http'
    ? [
        `POST /api/templates/render HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
          'Content-Length: 16000000\r\n\r\n{"html":"',
      ]
    : [`EHLO slow.example\r\nAUTH PLAIN ${Buffer.from(`\0any\0${token}`).toString('base64')}\r\nNOOP`]

// Real attackers have computers of their own.
setPriority(constants.priority.PRIORITY_LOW)

const open = new Set<Socket>()
let [tried, sentAway] = [0, 0]

function attack({ port, protocol, sockets, addresses, token }: SlowAttack): void {
  const first = token === null ? beginnings[protocol] : known(protocol, token)
  const drip = token !== null && protocol === 'http' ? bodyDrip : 'x'
  const queue = Array.from({ length: sockets }, (_, number) => number)
  const begin = (number: number): void => {
    tried++
    const socket = connect({ host: '127.0.0.1', port, localAddress: addresses[number % addresses.length] ?? '127.0.0.1' })
    socket.on('connect', () => {
      open.add(socket)
      socket.write(first[number % first.length] ?? '')
    })
    socket
      .on('error', () => {})
      .on('close', () => {
        if (open.delete(socket)) sentAway++
        setTimeout(() => queue.push(number), againMs * (0.5 + Math.random()))
      })
    socket.resume()
  }
  const tickMs = 20
  setInterval(() => {
    for (const number of queue.splice(0, (perSecond * tickMs) / 1000)) begin(number)
  }, tickMs)
  // Each has its turn once in a while, all of them evenly spread.
  let turns = open.values()
  setInterval(() => {
    for (let left = Math.ceil((open.size * tickMs) / dripMs); left > 0; left--) {
      const next = turns.next()
      if (next.done) turns = open.values()
      else if (next.value.writable) next.value.write(drip)
    }
  }, tickMs)
}

process.on('message', (message: SlowAttack | 'figures') => {
  if (message === 'figures') process.send?.({ tried, held: open.size, sentAway } satisfies SlowFigures)
  else attack(message)
})
process.on('disconnect', () => process.exit(0))
