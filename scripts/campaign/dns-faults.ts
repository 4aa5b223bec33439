import { decode, encode, type DecodedPacket } from 'dns-packet'
import { setTimeout as pause } from 'node:timers/promises'
import type { Asked, FakeEntry, FakeRecords, FakeZone } from '../../test/support/fake-dns.ts'

/** How the DNS of a destination is wrong, and what may become of its mail meanwhile. */
export interface DnsFault {
  name: string
  /** `domain`: that of the recipients; `host`: the name of their MX host, which takes mail at `address`. */
  zone(right: { domain: string; host: string; address: string }): FakeZone
  /** True where the records say that no mail is wanted, so it bounces at once. */
  bounces?: true
}

const [formerr, servfail, notimp, refused] = [1, 2, 4, 5]
const badversUpperBits = 1
const recursionAvailable = 1 << 7
const truncated = 1 << 9

/** An answer without records. */
const withCode = ({ query }: Asked, rcode: number, flags = recursionAvailable): Buffer =>
  encode({ type: 'response', id: query.id, flags: flags | rcode, questions: query.questions })

const changed = (message: Buffer, change: (packet: DecodedPacket) => Partial<DecodedPacket>): Buffer => {
  const packet = decode(message)
  return encode({ ...packet, ...change(packet) } as Parameters<typeof encode>[0])
}

const otherThan = ({ id = 0 }: DecodedPacket): number => (id + 1) & 0xffff

const hasEdns = ({ query }: Asked): boolean => (query.additionals ?? []).some(({ type }) => type === 'OPT')

/** Answers for the name of the domain; the rest is right. */
const atDomain = (name: string, entry: (mx: FakeRecords) => FakeEntry): DnsFault => ({
  name,
  zone: ({ domain, host, address }) => ({ [domain]: entry({ mx: [[10, host]] }), [host]: { a: [address] } }),
})

/** Answers for the name of its host; the rest is right. */
const atHost = (name: string, entry: (host: FakeRecords) => FakeEntry): DnsFault => ({
  name,
  zone: ({ domain, host, address }) => ({ [domain]: { mx: [[10, host]] }, [host]: entry({ a: [address] }) }),
})

/** One label that no host has, with these bytes. */
const oddLabel = Buffer.from('mx\0.odd label')
const rightLabel = 'mx-is-a-label'

/** The label of the host's name takes as many bytes, so that nothing else of the message changes. */
const withOddLabel = (message: Buffer): Buffer => {
  const place = message.indexOf(rightLabel)
  if (place >= 0) oddLabel.copy(message, place)
  return message
}

const ofType = ({ query }: Asked, type: string): boolean => query.questions?.[0]?.type === type

/** Each time another answer. */
function inTurn(...entries: FakeEntry[]): FakeEntry {
  let turn = 0
  return ({ answer }) => [answer(entries[turn++ % entries.length] as FakeEntry)]
}

export const dnsFaults: DnsFault[] = [
  atDomain('SERVFAIL', () => 'servfail'),
  atDomain('silence', () => 'timeout'),
  atDomain('REFUSED', () => (asked) => [withCode(asked, refused)]),
  atDomain('NOTIMP', () => (asked) => [withCode(asked, notimp)]),
  atDomain('FORMERR, with EDNS and without', () => (asked) => [withCode(asked, formerr)]),
  atDomain('BADVERS to EDNS', (mx) => (asked) => {
    const bad = {
      type: 'OPT',
      name: '.',
      udpPayloadSize: 1232,
      extendedRcode: badversUpperBits,
      ednsVersion: 0,
      flags: 0,
      options: [],
    } as const
    if (!hasEdns(asked)) return [asked.answer(mx)]
    return [changed(withCode(asked, 0), () => ({ additionals: [{ ...bad, flag_do: false, options: [] }] }))]
  }),
  atDomain('NXDOMAIN for a domain that lives', () => 'nxdomain'),
  atDomain('no records at all', () => ({})),
  atDomain('a referral instead of an answer', () => (asked) => [withCode(asked, 0, 0)]),
  atDomain('NXDOMAIN and the records in turn', (mx) => inTurn('nxdomain', mx)),
  atDomain('SERVFAIL and the records in turn', (mx) => inTurn('servfail', mx)),
  { name: 'an alias of itself', zone: ({ domain }) => ({ [domain]: { cname: domain } }) },
  {
    name: 'a loop of two aliases',
    zone: ({ domain }) => ({ [domain]: { cname: `loop.${domain}` }, [`loop.${domain}`]: { cname: domain } }),
  },
  {
    name: 'a chain of 20 aliases',
    zone: ({ domain, host, address }) => {
      const names = [domain, ...Array.from({ length: 20 }, (_, i) => `alias${i}.${domain}`)]
      const aliases = names.slice(0, -1).map((name, i) => [name, { cname: names[i + 1] as string }] as const)
      return { ...Object.fromEntries(aliases), [names.at(-1) as string]: { mx: [[10, host]] }, [host]: { a: [address] } }
    },
  },
  {
    name: 'an alias of a name that is not there',
    zone: ({ domain }) => ({ [domain]: { cname: `gone.${domain}` }, [`gone.${domain}`]: 'nxdomain' }),
  },
  { name: 'an alias of a name that cannot be one', zone: ({ domain }) => ({ [domain]: { cname: '-.!' } }) },
  {
    name: '1,000 MX records',
    zone: ({ domain, address }) => {
      const hosts = Array.from({ length: 1_000 }, (_, i) => `mx${i}.${domain}`)
      return { [domain]: { mx: hosts.map((host) => [10, host]) }, ...Object.fromEntries(hosts.map((host) => [host, { a: [address] }])) }
    },
  },
  atDomain(
    'truncated, and silence over TCP',
    () => (asked) => (asked.over === 'tcp' ? [] : [withCode(asked, 0, recursionAvailable | truncated)]),
  ),
  atDomain('truncated over TCP too', () => (asked) => [withCode(asked, 0, recursionAvailable | truncated)]),
  atDomain('truncated, and half an answer over TCP', (mx) => (asked) => {
    if (asked.over === 'udp') return [withCode(asked, 0, recursionAvailable | truncated)]
    const message = asked.answer(mx)
    return [message.subarray(0, message.length / 2)]
  }),
  atDomain('another id', (mx) => ({ query, answer }) => [changed(answer(mx), () => ({ id: otherThan(query) }))]),
  atDomain('another id, then the answer', (mx) => ({ query, answer }) => [
    changed(answer('nxdomain'), () => ({ id: otherThan(query) })),
    answer(mx),
  ]),
  atDomain('another question', (mx) => ({ answer }) => [
    changed(answer(mx), () => ({ questions: [{ name: 'other.example', type: 'MX', class: 'IN' }] })),
  ]),
  atDomain('no question', (mx) => ({ answer }) => [changed(answer(mx), () => ({ questions: [] }))]),
  atDomain('records of another name', (mx) => ({ answer }) => [
    changed(answer(mx), ({ answers = [] }) => ({ answers: answers.map((record) => ({ ...record, name: 'other.example' })) })),
  ]),
  atDomain('bytes that are no message', () => ({ query }) => {
    const bytes = Buffer.alloc(64, 0xff)
    bytes.writeUInt16BE(query.id ?? 0)
    return [bytes]
  }),
  atDomain('a name that points to itself', (mx) => ({ answer }) => {
    const message = answer(mx)
    const name = message.lastIndexOf(Buffer.from([0xc0, 0x0c]))
    if (name >= 0) message.writeUInt16BE(0xc000 | name, name)
    return [message]
  }),
  atDomain('nothing, one byte, then the answer', (mx) => ({ answer }) => [Buffer.alloc(0), Buffer.alloc(1), answer(mx)]),
  atDomain('the answer three times', (mx) => ({ answer }) => [answer(mx), answer(mx), answer(mx)]),
  atDomain('the answer two seconds late', (mx) => async ({ answer }) => {
    await pause(2_000)
    return [answer(mx)]
  }),
  atDomain('a TTL of 136 years', (mx) => ({ answer }) => [answer({ ...mx, ttl: 2 ** 32 - 1 })]),
  {
    name: 'a null MX beside others',
    zone: ({ domain, host, address }) => ({
      [domain]: {
        mx: [
          [0, ''],
          [10, host],
        ],
      },
      [host]: { a: [address] },
    }),
  },
  { name: 'a null MX', zone: ({ domain }) => ({ [domain]: { mx: [[0, '']] } }), bounces: true },
  {
    name: 'an MX that is an alias',
    zone: ({ domain, host, address }) => ({
      [domain]: { mx: [[10, host]] },
      [host]: { cname: `real.${host}` },
      [`real.${host}`]: { a: [address] },
    }),
  },
  { name: 'an MX that is the domain, without an address', zone: ({ domain }) => ({ [domain]: { mx: [[10, domain]] } }) },
  { name: 'an MX that is this server', zone: ({ domain }) => ({ [domain]: { mx: [[10, 'relay.campaign.example']] } }) },
  { name: 'an MX that is an address', zone: ({ domain, address }) => ({ [domain]: { mx: [[10, address]] } }) },
  {
    name: 'an MX with a NUL and a dot in a label',
    zone: ({ domain, address }) => {
      const host = `${rightLabel}.${domain}`
      return { [domain]: ({ answer }) => [withOddLabel(answer({ mx: [[10, host]] }))], [host]: { a: [address] } }
    },
  },
  atHost('SERVFAIL for the host', () => 'servfail'),
  atHost('silence for the host', () => 'timeout'),
  atHost('no such host', () => 'nxdomain'),
  atHost('a host at 0.0.0.0 and 255.255.255.255', () => ({ a: ['0.0.0.0', '255.255.255.255', '224.0.0.1'] })),
  atHost('SERVFAIL for IPv6 alone', (right) => (asked) => [ofType(asked, 'AAAA') ? withCode(asked, servfail) : asked.answer(right)]),
  atHost('silence for IPv6 alone', (right) => (asked) => (ofType(asked, 'AAAA') ? [] : [asked.answer(right)])),
  {
    name: 'SERVFAIL for one host of two',
    zone: ({ domain, host, address }) => ({
      [domain]: {
        mx: [
          [5, `first.${host}`],
          [10, host],
        ],
      },
      [`first.${host}`]: 'servfail',
      [host]: { a: [address] },
    }),
  },
]
