/**
 * Requests for opens and clicks as people and machines send them, each labelled. They are written from what is known of their
 * senders (`source`), not from the rules. A kind makes several cases that differ in time, agent, address and header;
 * those of odd numbers are held out: nobody looks at them while the rules are tuned.
 */
import type { Hit, HitMessage } from '../../../src/readers/tracking/hit.ts'

export type Label = 'machine' | 'person'

export interface LabelledCase {
  kind: string
  source: string
  isHeldOut: boolean
  message: HitMessage
  /** One for each hit. */
  labels: Label[]
}

interface LabelledHit {
  hit: Hit
  label: Label
}

interface Made {
  links?: number
  honeypot?: boolean
  scheme?: 'http' | 'https'
  hits: LabelledHit[]
}

interface Kind {
  kind: string
  source: string
  cases?: number
  make(pick: Pick): Made
}

/** Numbers that look random and are the same in every run (mulberry32). */
class Pick {
  #state: number
  constructor(seed: number) {
    this.#state = seed * 2654435761
  }
  number(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  between(low: number, high: number): number {
    return low + this.number() * (high - low)
  }
  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }
  of<T>(list: readonly T[]): T {
    return list[this.whole(0, list.length - 1)] as T
  }
}

type Headers = Record<string, string>

const languages = [
  'en-US,en;q=0.9',
  'de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7',
  'fr-FR,fr;q=0.9',
  'en-GB',
  'pl-PL,pl;q=0.8',
  'ja',
  'es-ES,es;q=0.9',
  'nl-NL,nl;q=0.9,en;q=0.8',
]
const page =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7'
const picture = 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8'
const host = 'track.example.com'
const windows = 'Windows NT 10.0; Win64; x64'
const mac = 'Macintosh; Intel Mac OS X 10_15_7'
const chromeAgent = (version: number | string, system = windows, mobile = ''): string =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0 ${mobile}Safari/537.36`

interface Look {
  scheme?: 'http' | 'https'
  image?: boolean
  version?: number
  referer?: string
}

const hintSystem: Record<string, string> = {
  windows: '"Windows"',
  mac: '"macOS"',
  linux: '"Linux"',
  android: '"Android"',
  cros: '"Chrome OS"',
}

function chromium(pick: Pick, { scheme = 'https', image = false, version = pick.whole(128, 147), referer }: Look = {}): Headers {
  const system = pick.of(['windows', 'windows', 'mac', 'linux', 'android', 'cros'] as const)
  const named = { windows, mac, linux: 'X11; Linux x86_64', android: 'Linux; Android 10; K', cros: 'X11; CrOS x86_64 14541.0.0' }[system]
  const brand = pick.of(['Google Chrome', 'Microsoft Edge', 'Opera', 'Brave'])
  const tail = brand === 'Microsoft Edge' ? ` Edg/${version}.0.0.0` : brand === 'Opera' ? ` OPR/${version - 16}.0.0.0` : ''
  const site = pick.of(['cross-site', 'none', 'cross-site'])
  const fetched: Headers = image
    ? { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
    : { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-user': '?1', 'sec-fetch-dest': 'document' }
  return shuffledByProxy(pick, {
    host,
    ...(pick.number() < 0.5 ? { connection: 'keep-alive' } : {}),
    ...(scheme === 'https'
      ? {
          'sec-ch-ua': `"Chromium";v="${version}", "${brand}";v="${version}", "Not?A_Brand";v="99"`,
          'sec-ch-ua-mobile': system === 'android' ? '?1' : '?0',
          'sec-ch-ua-platform': hintSystem[system] ?? '',
        }
      : {}),
    ...(image ? {} : { 'upgrade-insecure-requests': '1' }),
    'user-agent': chromeAgent(version, named, system === 'android' ? 'Mobile ' : '') + tail,
    accept: image ? picture : page,
    ...(scheme === 'https' ? fetched : {}),
    ...(referer ? { referer } : {}),
    'accept-encoding': scheme === 'https' ? 'gzip, deflate, br, zstd' : 'gzip, deflate',
    'accept-language': pick.of(languages),
    ...(pick.number() < 0.1 ? { dnt: '1' } : {}),
    ...(pick.number() < 0.1 ? { 'sec-gpc': '1' } : {}),
    ...(scheme === 'https' && !image ? { priority: 'u=0, i' } : {}),
  })
}

function firefox(pick: Pick, { scheme = 'https', image = false, version = pick.whole(128, 145), referer }: Look = {}): Headers {
  const system = pick.of([windows, 'Macintosh; Intel Mac OS X 10.15', 'X11; Ubuntu; Linux x86_64', 'Android 14; Mobile'])
  return shuffledByProxy(pick, {
    host,
    'user-agent': `Mozilla/5.0 (${system}; rv:${version}.0) Gecko/${system.startsWith('Android') ? `${version}.0` : '20100101'} Firefox/${version}.0`,
    accept: image
      ? 'image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5'
      : 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-language': pick.of(languages),
    'accept-encoding': 'gzip, deflate, br, zstd',
    ...(referer ? { referer } : {}),
    connection: 'keep-alive',
    ...(image ? {} : { 'upgrade-insecure-requests': '1' }),
    ...(scheme === 'https'
      ? {
          'sec-fetch-dest': image ? 'image' : 'document',
          'sec-fetch-mode': image ? 'no-cors' : 'navigate',
          'sec-fetch-site': 'cross-site',
          ...(image ? {} : { 'sec-fetch-user': '?1' }),
        }
      : {}),
  })
}

function safari(pick: Pick, { scheme = 'https', image = false, referer }: Look = {}): Headers {
  const version = pick.of(['16.6', '17.4.1', '17.6', '18.1', '18.5', '26.0', '26.1'])
  const agent = pick.of([
    `Mozilla/5.0 (${mac}) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/${version} Safari/605.1.15`,
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/${version} Mobile/15E148 Safari/604.1`,
    `Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/${version} Mobile/15E148 Safari/604.1`,
  ])
  return shuffledByProxy(pick, {
    host,
    accept: image
      ? 'image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5'
      : 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    ...(scheme === 'https' ? { 'sec-fetch-site': pick.of(['none', 'cross-site']) } : {}),
    ...(referer ? { referer } : {}),
    'accept-encoding': 'gzip, deflate, br',
    ...(scheme === 'https' ? { 'sec-fetch-mode': image ? 'no-cors' : 'navigate' } : {}),
    'user-agent': agent,
    'accept-language': pick.of(languages),
    ...(scheme === 'https' ? { 'sec-fetch-dest': image ? 'image' : 'document' } : {}),
    connection: 'keep-alive',
  })
}

/** The header of someone's browser of today. */
const browser = (pick: Pick, look: Look = {}): Headers => pick.of([chromium, chromium, firefox, safari])(pick, look)

/** Some proxies sort the fields, some add theirs in front. */
function shuffledByProxy(pick: Pick, headers: Headers): Headers {
  const way = pick.number()
  if (way < 0.15) return Object.fromEntries(Object.entries(headers).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  if (way < 0.25) return { host, 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https', ...headers }
  if (way < 0.3) return { ...headers, via: '1.1 proxy.example (squid/5.7)' }
  return headers
}

/** An old browser or web view, as it is: without Sec-Fetch, with a language. */
const plain = (
  agent: string,
  pick: Pick,
  accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8',
): Headers => ({
  host,
  connection: 'keep-alive',
  'upgrade-insecure-requests': '1',
  'user-agent': agent,
  accept,
  'accept-encoding': 'gzip, deflate',
  'accept-language': pick.of(languages),
})

const bare = (agent: string | null, accept = '*/*'): Headers => ({
  host,
  ...(agent === null ? {} : { 'user-agent': agent }),
  accept,
  'accept-encoding': 'gzip, deflate',
})

const home = (pick: Pick): string => {
  if (pick.number() < 0.2)
    return `2003:${pick.whole(0xc0, 0xff).toString(16)}:${pick.whole(1, 0xffff).toString(16)}:${pick.whole(1, 0xffff).toString(16)}::${pick.whole(1, 0xffff).toString(16)}`
  return `${pick.of(['84.132', '92.72', '81.2', '73.15', '98.24', '109.40', '77.20', '86.8', '24.16', '187.45'])}.${pick.whole(0, 255)}.${pick.whole(1, 254)}`
}
const office = (pick: Pick): string => `${pick.of(['195.37.8', '62.96.41', '212.18.3', '193.108.77'])}.${pick.whole(1, 254)}`
const within =
  (prefix: string) =>
  (pick: Pick): string => {
    const given = prefix.split('.')
    return [...given, ...Array.from({ length: 4 - given.length }, () => String(pick.whole(1, 254)))].join('.')
  }
const amazon = within('54.209')
const azure = within('20.72')
const eop = within('104.47')
const defender = within('40.94')
const google = (pick: Pick): string => `${pick.of(['66.249.84', '66.102.8', '74.125.210'])}.${pick.whole(1, 254)}`
const apple = (pick: Pick): string =>
  pick.of(['104.28.', '172.225.', '146.75.', '172.226.']) + `${pick.whole(1, 254)}.${pick.whole(1, 254)}`

const request = (label: Label, what: Hit['what'], seconds: number, headers: Headers, ip: string | null, method = 'GET'): LabelledHit => ({
  label,
  hit: { what, afterDeliveryMs: seconds * 1000, method, headers, ip },
})
const person = (what: Hit['what'], seconds: number, headers: Headers, ip: string | null): LabelledHit =>
  request('person', what, seconds, headers, ip)
const machine = (what: Hit['what'], seconds: number, headers: Headers, ip: string | null, method?: string): LabelledHit =>
  request('machine', what, seconds, headers, ip, method)
const click = (n: number): Hit['what'] => `click:${n}`

const gmailProxy = 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'
const gmailPrefetch =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0'
const gmailSampling = gmailPrefetch.replace('Mozilla/5.0', 'Mozilla/5.0').replace(/ Mozilla\/5\.0$/, ' Gmail-content-sampling')
const yahooProxy = 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'

const later = (pick: Pick): number => Math.exp(pick.between(Math.log(20), Math.log(200_000)))

const people: Kind[] = [
  {
    kind: 'Gmail: open by the proxy, click by the browser',
    source: 'scientiamobile.com/what-is-google-image-proxy',
    cases: 12,
    make(pick) {
      const at = pick.number() < 0.3 ? pick.between(3, 20) : later(pick)
      return {
        hits: [
          person('open', at, bare(gmailProxy, 'image/webp,image/*,*/*;q=0.8'), google(pick)),
          person(click(pick.whole(0, 4)), at + pick.between(3, 60), browser(pick), home(pick)),
        ],
      }
    },
  },
  {
    kind: 'Yahoo: open by the proxy, click by the browser',
    source: 'botcrawl.com/bots/yahoomailproxy',
    cases: 8,
    make(pick) {
      const at = later(pick)
      return {
        hits: [
          person('open', at, bare(yahooProxy), within('66.196')(pick)),
          person(click(1), at + pick.between(3, 90), browser(pick), home(pick)),
        ],
      }
    },
  },
  {
    kind: 'Outlook for Windows',
    source: 'ua-parser/uap-core#132, #405; httpagentparser#91',
    cases: 10,
    make(pick) {
      const agent = pick.of([
        'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; WOW64; Trident/7.0; .NET4.0C; .NET4.0E; Microsoft Outlook 16.0.5257; ms-office; MSOffice 16)',
        'Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
        'Mozilla/4.0 (compatible; ms-office; MSOffice rmj)',
        'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17328; Pro)',
        'Microsoft Office/15.0 (Windows NT 6.1; Microsoft Outlook 15.0.4420; Pro)',
      ])
      const [at, ip] = [later(pick), office(pick)]
      const open =
        pick.number() < 0.5
          ? bare(agent)
          : { host, accept: '*/*', 'user-agent': agent, 'accept-encoding': 'gzip, deflate', 'ua-cpu': 'AMD64', connection: 'Keep-Alive' }
      return { hits: [person('open', at, open, ip), person(click(0), at + pick.between(2, 100), chromium(pick), ip)] }
    },
  },
  {
    kind: 'new Outlook for Windows',
    source: 'next-auth#1840 and Microsoft: OneOutlook',
    cases: 6,
    make(pick) {
      const at = later(pick)
      const version = pick.whole(128, 147)
      const headers = {
        ...plain(`${chromeAgent(version)} Edg/${version}.0.0.0 OneOutlook/1.2025.${pick.whole(100, 999)}.100`, pick, picture),
        ...(pick.number() < 0.7 ? { 'sec-fetch-mode': 'no-cors', 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' } : {}),
      }
      return { hits: [person('open', at, headers, office(pick)), person(click(2), at + 12, chromium(pick), office(pick))] }
    },
  },
  {
    kind: 'Apple Mail without Mail Privacy Protection',
    source: 'warmbly#564; go-useragent#10',
    cases: 8,
    make(pick) {
      const agent = pick.of([
        `Mozilla/5.0 (${mac}) AppleWebKit/605.1.15 (KHTML, like Gecko)`,
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
        'Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
      ])
      const [at, ip] = [later(pick), home(pick)]
      const open: Headers = {
        host,
        accept: 'image/webp,image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5',
        'accept-encoding': 'gzip, deflate, br',
        'user-agent': agent,
        ...(pick.number() < 0.8 ? { 'accept-language': 'en-GB,en;q=0.9' } : {}),
        connection: 'keep-alive',
      }
      return { hits: [person('open', at, open, ip), person(click(0), at + pick.between(4, 40), safari(pick), ip)] }
    },
  },
  {
    kind: 'mail apps that fetch pictures themselves',
    source: 'tracking.md 3: Dalvik, okhttp, CFNetwork on the pixel; uap-core',
    cases: 16,
    make(pick) {
      const agent = pick.of([
        'Dalvik/2.1.0 (Linux; U; Android 13; SM-A536B Build/TP1A.220624.014)',
        'okhttp/4.12.0',
        'MobileMail/3731 CFNetwork/1490.0.4 Darwin/23.2.0',
        'Spark/3.20 CFNetwork/1498 Darwin/23.6.0',
        'Outlook-iOS/723.4127091.prod.iphone (4.2421.0)',
        'Outlook-Android/2.0',
        'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.4.0',
        'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:60.0) Gecko/20100101 Lightning/6.2 Thunderbird/60.9.1',
        'eM Client/9.2.2093.0',
        'Gnus/5.13 (Gnus v5.13) Emacs/27.1',
        'Evolution/3.52.3',
        `Mozilla/5.0 (${mac}) AppleWebKit/605.1.15 (KHTML, like Gecko) Mailspring/1.13.3 Chrome/112.0.5615.204 Electron/24.8.1 Safari/537.36`,
        'Mozilla/5.0 (iPhone; CPU iPhone OS 15_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 YahooMobileMail/1.0 (iPhone; iOS 15.0)',
        'Mozilla/5.0 (Linux; Android 12; SM-G991B Build/SP1A.210812.016; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/131.0.6778.81 Mobile Safari/537.36',
        'NaverMailApp/2.4',
        'Mozilla/5.0 (BB10; Touch) AppleWebKit/537.10+ (KHTML, like Gecko) Version/10.3.3.2205 Mobile Safari/537.10+',
      ])
      const [at, ip] = [later(pick), home(pick)]
      return {
        hits: [
          person('open', at, pick.number() < 0.5 ? bare(agent, 'image/*') : plain(agent, pick, '*/*'), ip),
          person(click(1), at + pick.between(2, 30), browser(pick), ip),
        ],
      }
    },
  },
  {
    kind: 'webmail in the browser that loads pictures itself',
    source: 'Roundcube, SOGo: pictures come from the reader',
    cases: 8,
    make(pick) {
      const [at, ip, look] = [later(pick), home(pick), pick.of([chromium, firefox, safari])]
      const state = pick.whole(1, 1e6)
      return { hits: [person('open', at, look(new Pick(state), { image: true }), ip), person(click(0), at + 5, look(new Pick(state)), ip)] }
    },
  },
  {
    kind: 'click without an open: pictures are blocked',
    source: 'tracking.md 3: Outlook and others block images',
    cases: 12,
    make: (pick) => ({ hits: [person(click(pick.whole(0, 4)), later(pick), browser(pick), office(pick))] }),
  },
  {
    kind: 'sign-in mail, clicked seconds after delivery',
    source: 'tracking.md 3: people waiting click after 5 to 10 s',
    cases: 14,
    make(pick) {
      const [at, ip] = [pick.between(4, 10), home(pick)]
      const hits = pick.number() < 0.5 ? [person('open', at - 1, bare(gmailProxy, 'image/*'), google(pick))] : []
      return { links: pick.whole(1, 2), hits: [...hits, person(click(0), at, browser(pick), ip)] }
    },
  },
  {
    kind: 'Safe Links, URL Defense: the person arrives with their own browser',
    source: 'resend/resend-node#901; Microsoft: Safe Links redirects the browser',
    cases: 10,
    make(pick) {
      const referer = pick.of([
        'https://nam12.safelinks.protection.outlook.com/',
        'https://urldefense.com/',
        'https://protect-eu.mimecast.com/',
        'https://linkprotect.cudasvc.com/',
      ])
      return { hits: [person(click(pick.whole(0, 4)), later(pick), browser(pick, { referer }), office(pick))] }
    },
  },
  {
    kind: 'behind a VPN, in Windows 365 or a cloud desktop',
    source: 'warmbly#412: people live in clouds',
    cases: 12,
    make(pick) {
      const [at, ip] = [later(pick), pick.of([amazon, azure, within('34.90'), within('159.65'), within('51.15')])(pick)]
      return {
        hits: [
          ...(pick.number() < 0.5 ? [person('open', at, chromium(pick, { image: true }), ip)] : []),
          person(click(1), at + 9, chromium(pick), ip),
        ],
      }
    },
  },
  {
    kind: 'iCloud Private Relay',
    source: 'matomo plugin-TrackingSpamPrevention#146',
    cases: 6,
    make: (pick) => ({
      hits: [
        machine('open', pick.between(5, 5000), bare('Mozilla/5.0'), apple(pick)),
        person(click(2), later(pick), safari(pick), apple(pick)),
      ],
    }),
  },
  {
    kind: 'browser isolation, hours later',
    source: 'warmbly#526: Proofpoint and Mimecast show pages to people',
    cases: 6,
    make: (pick) => ({
      hits: [
        person(
          click(0),
          pick.between(3600, 90_000),
          chromium(pick),
          pick.of([within('67.231.152'), within('205.139.110'), within('148.163.129')])(pick),
        ),
      ],
    }),
  },
  {
    kind: 'old phones and old systems',
    source: 'tracking.md 3: they exist and send Accept-Language',
    cases: 16,
    make(pick) {
      const agent = pick.of([
        'Mozilla/5.0 (Linux; U; Android 4.0.3; de-ch; HTC Sensation Build/IML74K) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30',
        'Mozilla/5.0 (Linux; Android 6.0.1; SM-J510FN) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/78.0.3904.108 Mobile Safari/537.36',
        'Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; rv:11.0) like Gecko',
        'Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0)',
        'Mozilla/5.0 (Windows NT 6.1; rv:78.0) Gecko/20100101 Firefox/78.0',
        'Mozilla/5.0 (iPad; CPU OS 9_3_5 like Mac OS X) AppleWebKit/601.1.46 (KHTML, like Gecko) Version/9.0 Mobile/13G36 Safari/601.1',
        'Mozilla/5.0 (iPhone; CPU iPhone OS 12_5_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Mobile/15E148 Safari/604.1',
        'Opera/9.80 (Android; Opera Mini/36.2.2254/119.132; U; id) Presto/2.12.423 Version/12.16',
        'Mozilla/5.0 (Linux; U; Android 7.0; en-US; SM-J710F) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/57.0.2987.108 UCBrowser/12.9.3 Mobile Safari/537.36',
        'Mozilla/5.0 (Mobile; LYF/F90M; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5',
        'Mozilla/5.0 (Linux; Android 8.1.0; CUBOT NOVA) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/70.0.3538.110 Mobile Safari/537.36',
        'Mozilla/5.0 (Linux; Android 11; CUBOT_NOTE_20 Build/RP1A) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/72.0.3626.105 Mobile Safari/537.36',
      ])
      return { hits: [person(click(0), later(pick), plain(agent, pick), home(pick))] }
    },
  },
  {
    kind: 'Windows 7: the last Chrome for it, complete',
    source: 'Chrome 109 is the last for Windows 7',
    cases: 4,
    make: (pick) => ({
      hits: [
        person(
          click(0),
          later(pick),
          {
            ...plain(chromeAgent(109, 'Windows NT 6.1; Win64; x64'), pick),
            'sec-fetch-site': 'none',
            'sec-fetch-mode': 'navigate',
            'sec-fetch-user': '?1',
            'sec-fetch-dest': 'document',
          },
          home(pick),
        ),
      ],
    }),
  },
  {
    kind: 'web views of apps',
    source: 'tracking.md 3: Slack, FBAN, LinkedInApp in a web view are people',
    cases: 14,
    make(pick) {
      const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148'
      const android =
        'Mozilla/5.0 (Linux; Android 13; SM-S901B Build/TP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/131.0.6778.81 Mobile Safari/537.36'
      const agent = pick.of([
        `${iphone} [FBAN/FBIOS;FBAV/470.0.0.31.109;FBDV/iPhone14,5]`,
        `${iphone} [LinkedInApp]/9.29.7814`,
        `${iphone} Instagram 340.0.3.27.98 (iPhone14,5; iOS 17_5)`,
        `${iphone} Snapchat/12.95.0.40 (like Safari/8618.2.12.10.9, panda)`,
        `${iphone} GSA/312.0.626416395 Safari/604.1`,
        `${iphone} Line/14.9.0`,
        `${android} [FB_IAB/FB4A;FBAV/470.0.0.31.109;]`,
        `${android} LinkedInApp`,
        `${android} SmartNews/9.1`,
        `Mozilla/5.0 (${mac}) AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.38.125 Chrome/124.0.6367.91 Electron/30.0.3 Safari/537.36 Sonic Slack_SSB/4.38.125`,
        'Mozilla/5.0 (Linux; Android 11; Redmi Note 8) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/86.0.4240.99 XWEB/4375 MMWEBSDK/20221011 Mobile Safari/537.36 MicroMessenger/8.0.30 NetType/WIFI Language/zh_CN ABI/arm64',
      ])
      return { hits: [person(click(1), later(pick), plain(agent, pick), home(pick))] }
    },
  },
  {
    kind: 'browsers of iOS other than Safari',
    source: 'CriOS, FxiOS, EdgiOS: WebKit under another name',
    cases: 6,
    make(pick) {
      const tail = pick.of(['CriOS/131.0.6778.103', 'FxiOS/133.0', 'EdgiOS/131.0.2903.92 Version/18.0'])
      const agent = `Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ${tail} Mobile/15E148 Safari/604.1`
      return {
        hits: [
          person(
            click(0),
            later(pick),
            { ...plain(agent, pick), 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' },
            home(pick),
          ),
        ],
      }
    },
  },
  {
    kind: 'Emacs, terminals and small browsers',
    source: 'isbot 5.2.3 says robot for some [M]',
    cases: 8,
    make(pick) {
      const agent = pick.of([
        'URL/Emacs Emacs/29.1 (X11; x86_64-pc-linux-gnu)',
        'Lynx/2.8.9rel.1 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/3.7.1',
        'w3m/0.5.3+git20230121',
        'ELinks/0.16.1.1 (textmode; Linux 6.1; 80x24-2)',
        'Dillo/3.0.5',
        'NetSurf/3.10 (Linux)',
      ])
      return { hits: [person(click(0), later(pick), plain(agent, pick, 'text/html, text/*;q=0.5, image/*'), home(pick))] }
    },
  },
  {
    kind: 'http: browsers send neither Sec-Fetch nor hints',
    source: 'W3C Fetch Metadata: to trustworthy URLs only',
    cases: 14,
    make(pick) {
      const [at, ip] = [later(pick), home(pick)]
      return {
        scheme: 'http',
        hits: [
          person('open', at, browser(pick, { scheme: 'http', image: true }), ip),
          person(click(0), at + 6, browser(pick, { scheme: 'http' }), ip),
        ],
      }
    },
  },
  {
    kind: 'double click',
    source: 'tracking.md 3: the same link twice',
    cases: 8,
    make(pick) {
      const [at, ip, headers, what] = [later(pick), home(pick), browser(pick), click(pick.whole(0, 4))]
      return {
        hits: [
          person(what, at, headers, ip),
          person(what, at + pick.between(0.08, 0.9), headers, ip),
          ...(pick.number() < 0.3 ? [person(what, at + 1.1, headers, ip)] : []),
        ],
      }
    },
  },
  {
    kind: 'two to four tabs, a second or more apart',
    source: 'tracking.md 3',
    cases: 12,
    make(pick) {
      const [at, ip, headers] = [later(pick), home(pick), browser(pick)]
      const gap = pick.between(1, 4)
      const tabs = pick.whole(2, 4)
      return {
        links: pick.of([5, 6, 8, 20]),
        hits: [
          person('open', at - 5, bare(gmailProxy), google(pick)),
          ...Array.from({ length: tabs }, (_, n) => person(click(n), at + n * gap, headers, ip)),
        ],
      }
    },
  },
  {
    kind: 'reads several links over minutes',
    source: 'a newsletter, read in peace',
    cases: 6,
    make(pick) {
      const [at, ip, headers] = [later(pick), home(pick), browser(pick)]
      return {
        links: 6,
        hits: Array.from({ length: pick.whole(3, 6) }, (_, n) => person(click(n), at + n * pick.between(25, 80), headers, ip)),
      }
    },
  },
  {
    kind: 'phone first, then the desk',
    source: 'one person, two devices',
    cases: 8,
    make(pick) {
      const at = later(pick)
      const iphone = {
        ...safari(pick),
        'user-agent':
          'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
      }
      return {
        hits: [
          person('open', at - 4, bare(gmailProxy), google(pick)),
          person(click(0), at, iphone, home(pick)),
          person(click(0), at + pick.between(35, 900), firefox(pick), office(pick)),
        ],
      }
    },
  },
  {
    kind: 'forwarded to colleagues',
    source: 'tracking.md 3: forwarded mail looks similar, but slower',
    cases: 6,
    make(pick) {
      let at = later(pick)
      return {
        hits: Array.from({ length: pick.whole(3, 8) }, () =>
          person(click(0), (at += pick.between(40, 1500)), browser(pick), pick.number() < 0.5 ? home(pick) : office(pick)),
        ),
      }
    },
  },
  {
    kind: 'do-not-track, Global Privacy Control, Tor',
    source: 'tracking.md 3: weight 0',
    cases: 6,
    make: (pick) => ({
      hits: [
        person(
          click(0),
          later(pick),
          pick.number() < 0.5
            ? { ...browser(pick), dnt: '1', 'sec-gpc': '1' }
            : { ...firefox(pick, { version: 128 }), 'accept-language': 'en-US,en;q=0.5' },
          pick.of(['185.220.101.4', '23.129.64.130', '77.20.3.4']),
        ),
      ],
    }),
  },
  {
    kind: 'no address is kept',
    source: 'the setting that keeps none',
    cases: 4,
    make: (pick) => ({ hits: [person('open', 300, bare(gmailProxy), null), person(click(0), later(pick), browser(pick), null)] }),
  },
  {
    kind: 'a scan at delivery, a person an hour later',
    source: 'anymail/django-anymail#200: the usual story',
    cases: 10,
    make(pick) {
      const [scanner, agent, start] = [amazon(pick), chromeAgent(pick.whole(64, 97)), pick.between(15, 90)]
      const at = start + pick.between(300, 20_000)
      const ip = office(pick)
      return {
        hits: [
          ...Array.from({ length: 5 }, (_, n) => machine(click(n), start + n * pick.between(0.01, 0.2), bare(agent, page), scanner)),
          person('open', at, bare('Mozilla/4.0 (compatible; ms-office; MSOffice 16)'), ip),
          person(click(pick.whole(0, 4)), at + 20, chromium(pick), ip),
        ],
      }
    },
  },
  {
    kind: 'a scan, and a person half a minute behind it',
    source: 'anymail/django-anymail#200; resend-node#901',
    cases: 8,
    make(pick) {
      const [scanner, start] = [azure(pick), pick.between(3, 20)]
      return {
        links: 2,
        hits: [
          machine(click(0), start, bare(null), eop(pick), 'HEAD'),
          machine(click(0), start + 1, bare(chromeAgent(79), page), scanner),
          person(click(0), start + pick.between(6, 40), browser(pick), home(pick)),
        ],
      }
    },
  },
]

const chromeOfToday = (pick: Pick): string => chromeAgent(pick.whole(130, 146), pick.of([windows, mac, 'X11; Linux x86_64']))
const oldChrome = (pick: Pick): string => chromeAgent(pick.of(['64.0.3282', '72.0.3626', '79.0.3945', '97.0.4692']).split('.')[0] ?? '79')

const machines: Kind[] = [
  {
    kind: 'Apple Mail Privacy Protection',
    source: 'uap-core#509; wordtothewise.com/2021/09',
    cases: 10,
    make: (pick) => ({
      hits: [machine('open', later(pick), pick.number() < 0.5 ? bare('Mozilla/5.0') : plain('Mozilla/5.0', pick, picture), apple(pick))],
    }),
  },
  {
    kind: 'Gmail prefetch',
    source: 'bird.com/en-gb/blog/gmail-prefetching-images',
    cases: 6,
    make: (pick) => ({
      hits: [
        machine('open', pick.between(1, 20), bare(gmailPrefetch, picture), google(pick)),
        person('open', later(pick) + 60, bare(gmailProxy), google(pick)),
      ],
    }),
  },
  {
    kind: 'Gmail samples links',
    source: 'mssola/user_agent#71',
    cases: 4,
    make: (pick) => ({ hits: [machine(click(pick.whole(0, 4)), pick.between(5, 600), plain(gmailSampling, pick), google(pick))] }),
  },
  {
    kind: 'Defender: HEAD without an agent',
    source: 'laravel-passwordless-login#79: 104.47.*',
    cases: 10,
    make: (pick) => ({ links: pick.whole(1, 6), hits: [machine(click(0), pick.between(0.5, 60), { host }, eop(pick), 'HEAD')] }),
  },
  {
    kind: 'Defender: GET under the name of an old Chrome',
    source: 'SergeyMosin/Appointments#293; FusionAuth#629',
    cases: 14,
    make(pick) {
      const ip = pick.of([defender, within('40.107'), azure, within('20.190')])(pick)
      const headers =
        pick.number() < 0.5
          ? bare(oldChrome(pick), page)
          : { ...plain(oldChrome(pick), pick), 'accept-language': pick.of(['en-US', 'en-US,en;q=0.9']) }
      if (pick.number() < 0.3) delete headers['accept-language']
      return { links: pick.whole(1, 5), hits: [machine(click(0), pick.between(1, 90), headers, ip)] }
    },
  },
  {
    kind: 'Defender: HeadlessChrome',
    source: 'emdash#3298: AS8075, two GETs 22 s after sending',
    cases: 6,
    make(pick) {
      const headers = {
        ...chromium(pick),
        'user-agent': `Mozilla/5.0 (${windows}) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/${pick.whole(110, 140)}.0.0.0 Safari/537.36`,
      }
      const at = pick.between(10, 60)
      return { links: 1, hits: [machine(click(0), at, headers, azure(pick)), machine(click(0), at + 1, headers, azure(pick))] }
    },
  },
  {
    kind: 'headless that hides its name but not its hints',
    source: 'WICG UA-CH: Sec-CH-UA of headless Chrome',
    cases: 4,
    make: (pick) => ({
      hits: [
        machine(
          click(0),
          pick.between(5, 300),
          { ...chromium(pick), 'sec-ch-ua': '"HeadlessChrome";v="140", "Chromium";v="140", "Not A Brand";v="24"' },
          amazon(pick),
        ),
      ],
    }),
  },
  {
    kind: 'gateway sweep: the picture, then all links within a second',
    source: 'craft-campaign#546 (836 sweeps)',
    cases: 16,
    make(pick) {
      const [ip, headers] = [
        pick.of([amazon, azure, office, within('91.220.42')])(pick),
        pick.number() < 0.6 ? bare(chromeOfToday(pick), page) : chromium(pick),
      ]
      const open = pick.between(5, 15)
      const start = open + pick.between(20, 60)
      const links = pick.whole(3, 14)
      return {
        links,
        hits: [
          machine('open', open, { ...headers, accept: picture }, ip),
          ...Array.from({ length: links }, (_, n) => machine(click(n), start + (n / links) * pick.between(0.3, 1), headers, ip)),
        ],
      }
    },
  },
  {
    kind: 'gateway sweep from several addresses',
    source: 'craft-campaign#546; MillionSend#22: the same fleet',
    cases: 10,
    make(pick) {
      const agent = chromeOfToday(pick)
      const start = pick.between(10, 280)
      const links = pick.whole(4, 12)
      return {
        links,
        hits: Array.from({ length: links }, (_, n) =>
          machine(
            click(n),
            start + n * pick.between(0.02, 0.12),
            bare(pick.number() < 0.7 ? agent : chromeOfToday(pick), page),
            amazon(pick),
          ),
        ),
      }
    },
  },
  {
    kind: 'gateway sweep in a real browser, link by link',
    source: 'craft-campaign#546; opencollective#3656: runs JavaScript',
    cases: 8,
    make(pick) {
      const [ip, headers] = [amazon(pick), chromium(pick)]
      const [start, links] = [pick.between(15, 300), pick.whole(6, 15)]
      return { links, hits: Array.from({ length: links }, (_, n) => machine(click(n), start + n * pick.between(0.3, 0.9), headers, ip)) }
    },
  },
  {
    kind: 'gateway, a single link',
    source: 'MillionSend#22; connect.act-on.com: Barracuda follows the first',
    cases: 14,
    make(pick) {
      const ip = pick.of([amazon, within('209.222.82'), within('67.231.152'), within('205.139.110'), azure, within('35.176.92')])(pick)
      const headers = pick.of([
        bare(chromeOfToday(pick), page),
        bare(oldChrome(pick)),
        { ...bare(chromeOfToday(pick), page), 'accept-language': 'en-US' },
      ])
      return { links: pick.whole(3, 10), hits: [machine(click(0), pick.between(1, 120), headers, ip)] }
    },
  },
  {
    kind: 'slow scanner, unmasked by the hidden link',
    source: 'paminga.com/docs/concepts/bot-filtering; mautic#9798',
    cases: 12,
    make(pick) {
      const [ip, headers] = [pick.of([amazon, office, home])(pick), pick.number() < 0.5 ? chromium(pick) : bare(chromeOfToday(pick), page)]
      let at = pick.between(10, 300)
      const links = pick.whole(3, 6)
      const trap = pick.whole(0, links - 1)
      const hits = Array.from({ length: links }, (_, n) => {
        at += pick.between(3, 45)
        return n === trap
          ? [machine(click(n), at, headers, ip), machine('honeypot', at + pick.between(2, 12), headers, ip)]
          : [machine(click(n), at, headers, ip)]
      }).flat()
      return { links, honeypot: true, hits: [...hits, person(click(0), at + pick.between(2000, 9000), browser(pick), home(pick))] }
    },
  },
  {
    kind: 'scanner with changing addresses and one agent, hidden link',
    source: 'paminga.com: the same address or agent',
    cases: 6,
    make(pick) {
      const agent = chromeOfToday(pick)
      const at = pick.between(10, 300)
      return {
        honeypot: true,
        hits: [
          machine(click(0), at, bare(agent, page), amazon(pick)),
          machine('honeypot', at + pick.between(2, 15), bare(agent, page), within('3.90')(pick)),
          machine(click(3), at + pick.between(16, 25), bare(agent, page), azure(pick)),
        ],
      }
    },
  },
  {
    kind: 'link previews',
    source: 'crawler-user-agents',
    cases: 12,
    make(pick) {
      const agent = pick.of([
        'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
        'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
        'WhatsApp/2.23.20.0 A',
        'TelegramBot (like TwitterBot)',
        'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com',
        'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
        'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
        'Twitterbot/1.0',
        'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
      ])
      return { hits: [machine(click(0), later(pick), pick.number() < 0.5 ? bare(agent) : plain(agent, pick), home(pick))] }
    },
  },
  {
    kind: 'scripts, monitors, crawlers',
    source: 'suped.com, identify bot user agents',
    cases: 16,
    make(pick) {
      const agent = pick.of([
        'python-requests/2.31.0',
        'Go-http-client/2.0',
        'curl/8.5.0',
        'Wget/1.21.4',
        'Java/17.0.9',
        'Python/3.11 aiohttp/3.9.1',
        'okhttp/4.12.0',
        'axios/1.6.2',
        'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)',
        'Apache-HttpClient/4.5.14 (Java/11.0.21)',
        'libwww-perl/6.72',
        'Ruby',
        'Dart/3.1 (dart:io)',
        'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
        'Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)',
        'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
        'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.1; +https://openai.com/gptbot)',
        'Mozilla/5.0 (Unknown; Linux x86_64) AppleWebKit/538.1 (KHTML, like Gecko) PhantomJS/2.1.1 Safari/538.1',
        'Barracuda Sentinel (EE)',
        'Mimecast-URL-Scanner',
      ])
      return { hits: [machine(click(pick.whole(0, 4)), later(pick), bare(agent), amazon(pick))] }
    },
  },
  {
    kind: 'scripts on the picture',
    source: 'suped.com, identify bot user agents',
    cases: 4,
    make: (pick) => ({
      hits: [
        machine(
          'open',
          pick.between(1, 4000),
          bare(
            pick.of([
              'python-requests/2.31.0',
              'Go-http-client/1.1',
              'curl/8.5.0',
              'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/119.0.0.0 Safari/537.36',
            ]),
          ),
          amazon(pick),
        ),
      ],
    }),
  },
  {
    kind: "a browser's prefetch, then the person",
    source: 'lionralfs.dev, http.dev/purpose',
    cases: 10,
    make(pick) {
      const [at, ip, headers] = [later(pick), home(pick), chromium(pick)]
      const ahead = pick.of([
        { 'sec-purpose': 'prefetch' },
        { 'sec-purpose': 'prefetch;prerender', purpose: 'prefetch' },
        { purpose: 'prefetch' },
        { 'x-moz': 'prefetch' },
        { 'x-purpose': 'preview' },
      ] as Headers[])
      return { hits: [machine(click(0), at, { ...headers, ...ahead }, ip), person(click(0), at + pick.between(0.5, 20), headers, ip)] }
    },
  },
  {
    kind: 'no agent',
    source: 'laravel-passwordless-login#79: blank',
    cases: 6,
    make: (pick) => ({
      hits: [
        machine(
          pick.of(['open', click(1)]),
          pick.between(2, 5000),
          bare(pick.of([null, '', ' ', '-'])),
          pick.of([amazon, home, azure])(pick),
        ),
      ],
    }),
  },
  {
    kind: 'the gateway checks the link that a person clicked',
    source: 'resend/resend-node#901 (12 s later)',
    cases: 10,
    make(pick) {
      const at = later(pick)
      return {
        hits: [
          person(
            click(2),
            at,
            { ...chromium(pick), 'user-agent': chromeAgent(140), 'sec-ch-ua': '"Chromium";v="140"', 'sec-ch-ua-platform': '"Windows"' },
            home(pick),
          ),
          machine(click(2), at + pick.between(1, 40), bare(chromeAgent(pick.whole(115, 138), 'X11; Linux x86_64'), page), amazon(pick)),
        ],
      }
    },
  },
  {
    kind: 'a filter that reads mail in transit',
    source: 'inspection before the 250: hits come before delivery',
    cases: 4,
    make: (pick) => ({
      hits: [machine(click(0), -pick.between(1, 30), pick.number() < 0.5 ? chromium(pick) : bare(chromeOfToday(pick), page), office(pick))],
    }),
  },
  {
    kind: 'HEAD, then GET by the same',
    source: 'FusionAuth#629; next-auth#1840',
    cases: 6,
    make(pick) {
      const [ip, headers, at] = [office(pick), chromium(pick), pick.between(10, 400)]
      return { hits: [machine(click(0), at, headers, ip, 'HEAD'), machine(click(0), at + pick.between(0.2, 3), headers, ip)] }
    },
  },
  {
    kind: 'one link from everywhere within a minute',
    source: 'tracking.md 3: many addresses and agents',
    cases: 4,
    make(pick) {
      const start = pick.between(20, 9000)
      return {
        hits: Array.from({ length: 8 }, (_, n) =>
          machine(
            click(1),
            start + n * pick.between(1, 6),
            bare(chromeAgent(120 + n, n % 2 ? windows : mac), page),
            `${pick.whole(11, 200)}.${pick.whole(0, 255)}.7.${pick.whole(1, 254)}`,
          ),
        ),
      }
    },
  },
  {
    kind: 'http: a library under the name of a browser',
    source: 'SergeyMosin/Appointments#293 without Accept-Language, Accept */*',
    cases: 6,
    make: (pick) => ({
      scheme: 'http',
      hits: [machine(click(0), pick.between(2, 300), bare(pick.number() < 0.5 ? oldChrome(pick) : chromeOfToday(pick)), amazon(pick))],
    }),
  },
  {
    kind: "an operator's network is known by rule",
    source: 'EOP fetches pictures: Microsoft endpoint sets 9 and 10',
    cases: 4,
    make: (pick) => ({
      hits: [
        machine('open', pick.between(2, 100), chromium(pick, { image: true }), within('52.101')(pick)),
        machine(click(0), pick.between(101, 300), chromium(pick), '2a01:111:f400:7e05::1'),
      ],
    }),
  },
]

/** What a single message cannot tell, so that the figures do not flatter: most of these are judged wrongly. */
const hard: Kind[] = [
  {
    kind: 'browser isolation, minutes after delivery',
    source: 'warmbly#526: Proofpoint and Mimecast show pages to people',
    cases: 4,
    make: (pick) => ({
      hits: [person(click(0), pick.between(60, 290), chromium(pick), pick.of([within('67.231.152'), within('205.139.110')])(pick))],
    }),
  },
  {
    kind: 'quick reader: three tabs, less than a second apart',
    source: 'middle clicks, one after another',
    cases: 4,
    make(pick) {
      const [at, ip, headers] = [later(pick), home(pick), browser(pick)]
      return { hits: [0, 1, 2].map((n) => person(click(n), at + n * 0.7, headers, ip)) }
    },
  },
  {
    kind: 'one link, a real browser, from a cloud',
    source: 'MillionSend#22; opencollective#3656: runs JavaScript',
    cases: 8,
    make: (pick) => ({ hits: [machine(click(0), pick.between(10, 400), chromium(pick), pick.of([amazon, azure])(pick))] }),
  },
  {
    kind: 'the picture alone, from a network that nobody knows',
    source: 'craft-campaign#546: some gateways fetch no link',
    cases: 6,
    make: (pick) => ({ hits: [machine('open', pick.between(6, 30), bare(chromeOfToday(pick), picture), office(pick))] }),
  },
  {
    kind: 'slow scanner in a real browser, without a hidden link in the mail',
    source: 'mautic#9798: random pauses',
    cases: 6,
    make(pick) {
      const [ip, headers] = [pick.of([amazon, office])(pick), chromium(pick)]
      let at = pick.between(10, 100)
      return { hits: Array.from({ length: 5 }, (_, n) => machine(click(n), (at += pick.between(5, 60)), headers, ip)) }
    },
  },
]

/** All cases, the same in every run. */
export function labelledCases(): LabelledCase[] {
  let seed = 0
  return [...people, ...machines, ...hard].flatMap(({ kind, source, cases = 8, make }) =>
    Array.from({ length: cases }, (_, n) => {
      const { links = 5, honeypot = false, scheme = 'https', hits } = make(new Pick(++seed))
      return {
        kind,
        source,
        isHeldOut: n % 2 === 1,
        message: { links, honeypot, scheme, hits: hits.map(({ hit }) => hit) },
        labels: hits.map(({ label }) => label),
      }
    }),
  )
}
