import { describe, expect, test } from 'vitest'
import { networkRule } from '../../../src/platform/ip-address.ts'
import type { Hit, HitMessage } from '../../../src/readers/tracking/hit.ts'
import { judgeHits } from '../../../src/readers/tracking/judge-hits.ts'
import { labelledCases } from './labelled-readers.ts'

const chrome = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const linux = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36'
const home = '84.132.7.9'

const browser = (agent = chrome): Record<string, string> => ({
  host: 'track.example.com',
  'user-agent': agent,
  accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
  'sec-fetch-site': 'none',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'accept-encoding': 'gzip, deflate, br',
  'accept-language': 'de-DE,de;q=0.9',
})
const bare = (agent: string): Record<string, string> => ({ host: 'track.example.com', 'user-agent': agent, accept: '*/*' })

const hit = (what: Hit['what'], seconds: number, changes: Partial<Hit> = {}): Hit => ({
  what,
  afterDeliveryMs: seconds * 1000,
  method: 'GET',
  headers: browser(),
  ip: home,
  ...changes,
})

const judge = (hits: Hit[], changes: Partial<HitMessage> = {}): ReturnType<typeof judgeHits> =>
  judgeHits({ links: 5, scheme: 'https', hits, ...changes })
const bots = (hits: Hit[], changes: Partial<HitMessage> = {}): boolean[] => judge(hits, changes).map(({ bot }) => bot)

describe('the labelled sequences', () => {
  test('has at least 300 sequences, each with its source', () => {
    const cases = labelledCases()
    expect(cases.length).toBeGreaterThanOrEqual(300)
    expect(cases.filter(({ source }) => source === '')).toEqual([])
  })

  test.each([false, true])('recognises machines and takes no person for one (held out: %s)', (isHeldOut) => {
    const judged = labelledCases()
      .filter((one) => one.isHeldOut === isHeldOut)
      .flatMap(({ kind, message, labels }) => judgeHits(message).map(({ bot }, n) => ({ kind, label: labels[n], bot })))
    const machines = judged.filter(({ label }) => label === 'machine')
    const people = judged.filter(({ label }) => label === 'person')
    expect(machines.filter(({ bot }) => bot).length / machines.length).toBeGreaterThanOrEqual(0.9)
    expect(people.filter(({ bot }) => bot).length / people.length, JSON.stringify(people.filter(({ bot }) => bot))).toBeLessThanOrEqual(
      0.01,
    )
  })
})

describe('a single hit', () => {
  test('a person who clicks is a person, without a reason', () => {
    expect(judge([hit('open', 60), hit('click:0', 63)])).toEqual([
      { bot: false, reason: null, confidence: 0 },
      { bot: false, reason: null, confidence: 0 },
    ])
  })

  test.each([
    ['HEAD', { method: 'HEAD' }, 'head'],
    ['a prefetch', { headers: { ...browser(), 'sec-purpose': 'prefetch;prerender' } }, 'prefetch'],
    ['a script', { headers: bare('python-requests/2.31.0') }, 'declared'],
    ['headless hints', { headers: { ...browser(), 'sec-ch-ua': '"HeadlessChrome";v="142"' } }, 'declared'],
    ['no agent', { headers: { host: 'track.example.com' } }, 'no_agent'],
    ["a filter's network", { ip: '104.47.9.9' }, 'scanner_network'],
    ["a filter's network in IPv6 clothing", { ip: '::ffff:104.47.9.9' }, 'scanner_network'],
    ['a library under the name of a browser', { headers: bare(chrome) }, 'fabricated'],
  ])('%s is a machine', (_name, changes, reason) => {
    expect(judge([hit('click:0', 3600, changes)])).toMatchObject([{ bot: true, reason }])
  })

  test('confidence is at most 0.99', () => {
    expect(judge([hit('honeypot', 1, { method: 'HEAD', headers: {}, ip: '104.47.9.9' })])).toEqual([
      { bot: true, reason: 'honeypot', confidence: 0.99 },
    ])
  })

  test("an image proxy for readers counts as a person, Apple's prefetch does not; neither follows links", () => {
    const agents = ['Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)', 'Mozilla/5.0']
    for (const [agent, isBot] of [
      [agents[0], false],
      [agents[1], true],
    ] as const) {
      expect(bots([hit('open', 2, { headers: bare(agent ?? '') }), hit('click:0', 900, { headers: bare(agent ?? '') })])).toEqual([
        isBot,
        true,
      ])
    }
  })

  test('one weak sign decides nothing', () => {
    const weak: Partial<Hit>[] = [
      { afterDeliveryMs: 800 },
      { ip: '20.72.9.9' },
      { headers: Object.fromEntries(Object.entries(browser()).filter(([name]) => !name.startsWith('sec-'))) },
      { ip: '67.231.152.9' },
    ]
    for (const changes of weak) expect(bots([hit('click:0', 3600, changes)])).toEqual([false])
  })

  test("a filter's network that also shows pages to people is a sign only soon after delivery", () => {
    expect(bots([hit('click:0', 40, { ip: '67.231.152.9' }), hit('click:1', 4000, { ip: '67.231.152.9' })])).toEqual([true, false])
  })

  test('over http, Sec-Fetch is not expected', () => {
    const headers = { host: 'track.example.com', 'user-agent': chrome, accept: 'text/html', 'accept-language': 'en' }
    expect(judge([hit('open', 50), hit('click:0', 60, { headers })], { scheme: 'http' })[1]?.confidence).toBe(0)
    expect(judge([hit('open', 50), hit('click:0', 60, { headers })])[1]?.confidence).toBe(0.4)
  })

  test('a hit shortly before delivery is by a scanner in transit', () => {
    expect(bots([hit('click:0', -3), hit('click:0', -40_000)])).toEqual([true, false])
  })

  test("the operator's networks count as scanners, too", () => {
    const message: HitMessage = { links: 5, scheme: 'https', hits: [hit('click:0', 900, { ip: '198.51.100.7' })] }
    expect(judgeHits(message, networkRule(['198.51.100.0/24']))).toMatchObject([
      { bot: true, reason: 'scanner_network', confidence: 0.955 },
    ])
    expect(judgeHits(message)).toMatchObject([{ bot: false }])
  })
})

describe('several hits', () => {
  const sweep = Array.from({ length: 5 }, (_, n) => hit(`click:${n}`, 60 + n / 10, { ip: '54.209.1.1', headers: browser(linux) }))

  test('a hundred clicks on one link within a second are no people, with whatever header; those before and after are', () => {
    const flood = Array.from({ length: 100 }, (_, n) => hit('click:0', 100 + n / 150, { ip: `84.${n}.7.9` }))
    expect(judge([hit('open', 60), hit('click:0', 63), ...flood, hit('click:0', 200)])).toMatchObject([
      { bot: false },
      { bot: false },
      ...flood.map(() => ({ bot: true, reason: 'burst' })),
      { bot: false },
    ])
    // Somebody who clicks again and again, and many who read one copy with the same browser.
    const again = Array.from({ length: 8 }, (_, n) => hit('click:0', 100 + n / 8))
    const readers = Array.from({ length: 60 }, (_, n) => hit('click:0', 600 + n / 10))
    expect(bots([hit('open', 60), ...again, ...readers])).not.toContain(true)
  })

  test('all links within a second are a sweep, with the picture that the same machine fetched; a click an hour later is not', () => {
    const before = hit('open', 20, { ip: '54.209.1.1', headers: browser(linux) })
    expect(judge([before, ...sweep, hit('click:2', 3600)])).toMatchObject([
      { bot: true, reason: 'burst' },
      ...sweep.map(() => ({ bot: true, reason: 'burst' })),
      { bot: false },
    ])
  })

  test('a person who clicks during a sweep is not part of it', () => {
    expect(bots([...sweep, hit('click:2', 60.2)]).at(-1)).toBe(false)
  })

  test('a sweep from many addresses with many agents is one', () => {
    const hits = Array.from({ length: 6 }, (_, n) =>
      hit(`click:${n}`, 60 + n / 10, { ip: `5${n}.10.1.1`, headers: browser(chrome.replace('142', `12${n}`)) }),
    )
    expect(bots(hits)).toEqual(hits.map(() => true))
  })

  test('the order of the hits does not matter', () => {
    const hits = [hit('click:2', 3600), ...sweep.toReversed()]
    expect(bots(hits)).toEqual([false, ...sweep.map(() => true)])
  })

  test("a double click and four tabs a second apart are a person's", () => {
    expect(bots([hit('click:1', 60), hit('click:1', 60.1), hit('click:1', 60.2)])).toEqual([false, false, false])
    expect(bots([0, 1, 2, 3].map((n) => hit(`click:${n}`, 60 + n)))).toEqual([false, false, false, false])
    expect(
      bots(
        [0, 1, 2, 3].map((n) => hit(`click:${n}`, 60 + n)),
        { links: 4 },
      ),
    ).toEqual([false, false, false, false])
  })

  test('the hidden link marks the same address or agent for half a minute, and both together for a quarter of an hour', () => {
    const scanner = { ip: '54.209.1.1', headers: bare(linux) }
    const trap = hit('honeypot', 100, scanner)
    expect(bots([trap, hit('click:0', 125, { ip: '54.209.1.1' })])[1]).toBe(true)
    expect(bots([trap, hit('click:0', 135, { ip: '54.209.1.1' })])[1]).toBe(false)
    expect(bots([hit('click:0', 75, { ip: '3.9.1.1', headers: bare(linux) }), trap])[0]).toBe(true)
    expect(bots([hit('honeypot', 100, { ip: '77.1.1.1' }), hit('click:0', 900, { ip: '77.1.1.1' })])[1]).toBe(true)
    expect(bots([hit('honeypot', 100, { ip: '77.1.1.1' }), hit('click:0', 2000, { ip: '77.1.1.1' })])[1]).toBe(false)
  })

  test("a person with the scanner's agent and a complete header is not marked by the hidden link", () => {
    expect(bots([hit('honeypot', 100, { ip: '54.209.1.1', headers: bare(chrome) }), hit('click:0', 110)])).toEqual([true, false])
  })

  test("a reader's proxy follows nobody", () => {
    const proxy = bare('Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)')
    expect(bots([hit('honeypot', 100, { headers: proxy }), hit('open', 101, { headers: proxy })])).toEqual([true, false])
  })

  test("GET after HEAD from the same client is a machine's; after a prefetch it is the person's", () => {
    expect(bots([hit('click:0', 60, { method: 'HEAD' }), hit('click:0', 61)])).toEqual([true, true])
    expect(bots([hit('click:0', 60, { headers: { ...browser(), purpose: 'prefetch' } }), hit('click:0', 61)])).toEqual([true, false])
  })

  test("a repeated click from elsewhere is a shadow, but never the first one, nor a click after a machine's", () => {
    const elsewhere = { ip: '11.2.3.4', headers: { ...browser(linux), 'sec-fetch-mode': '', 'sec-fetch-site': '' } }
    expect(judge([hit('click:0', 600), hit('click:0', 612, elsewhere)])).toMatchObject([{ bot: false }, { bot: true, reason: 'shadow' }])
    expect(bots([hit('click:0', 600, { method: 'HEAD', headers: {}, ip: '54.9.1.1' }), hit('click:0', 612)])).toEqual([true, false])
  })

  test('one link from everywhere at once is followed by machines; colleagues take longer', () => {
    const from = (n: number, gap: number): Hit =>
      hit('click:0', 600 + n * gap, { ip: `${30 + n}.1.1.1`, headers: browser(chrome.replace('142', `13${n}`)) })
    expect(bots([0, 1, 2, 3, 4, 5].map((n) => from(n, 5)))).toEqual(Array(6).fill(true))
    expect(bots([0, 1, 2, 3, 4, 5].map((n) => from(n, 45)))).toEqual(Array(6).fill(false))
  })

  test('a phone, and half a minute later a desktop, are people', () => {
    const phone =
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1'
    expect(bots([hit('click:0', 600, { headers: browser(phone), ip: '187.4.4.4' }), hit('click:0', 630)])).toEqual([false, false])
  })
})

describe('hostile requests', () => {
  const many = (count: number, of: (n: number) => Partial<Hit>): HitMessage => ({
    links: 5,
    scheme: 'https',
    hits: Array.from({ length: count }, (_, n) => hit(`click:${n % 7}`, n / 1000, of(n))),
  })
  const shapes: [string, (n: number) => Partial<Hit>][] = [
    ['agents of 10 KB', (n) => ({ headers: bare(`${'Mozilla/5.0 ('.repeat(800)}${n}`) })],
    [
      'blanks and quotes',
      () => ({ headers: { ...bare(' a'.repeat(5000)), 'accept-language': ' '.repeat(10_000), 'sec-ch-ua': '"'.repeat(10_000) } }),
    ],
    ['one moment', () => ({ afterDeliveryMs: 5 })],
    ['one hidden link each', (n) => ({ what: 'honeypot', headers: bare(`x${n}`) })],
    ['no address and no time', () => ({ ip: 'nowhere', afterDeliveryMs: NaN })],
  ]

  test.each(shapes)('%s: every hit has a verdict', (_name, of) => {
    const verdicts = judgeHits(many(300, of))
    expect(verdicts).toHaveLength(300)
    for (const { confidence } of verdicts) expect(confidence).toBeLessThanOrEqual(0.99)
  })

  test('ten times the hits take about ten times the work, not a hundred times', () => {
    const took = (count: number): number => {
      const message = many(count, (n) => ({ ip: `10.${n % 200}.1.1`, afterDeliveryMs: 0 }))
      const runs = Array.from({ length: 3 }, () => {
        const start = process.cpuUsage()
        judgeHits(message)
        const { user, system } = process.cpuUsage(start)
        return user + system
      })
      return Math.min(...runs)
    }
    took(400)
    expect(took(4000) / took(400)).toBeLessThan(40)
  })
})
