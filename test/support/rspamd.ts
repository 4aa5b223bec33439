import { freePort } from '../../bench/free-port.ts'
import { startMailSystem } from './mail-system.ts'

/** What surrounded a message when it came in, as a mail server tells a filter. */
export interface Envelope {
  ip: string
  helo: string
  from: string
  to: string
}

/** What a filter says of a message: the points of each rule that hit it. */
export type Points = Record<string, number>

interface Rspamd {
  check(message: Buffer, envelope: Envelope): Promise<Points>
  stop(): Promise<void>
}

const off = 'enabled = false;\n'

/** Debian's rspamd as it comes, which asks nobody but this name server. */
export async function startRspamd(nameServer: string): Promise<Rspamd> {
  const listen = { host: '127.0.3.40', port: await freePort() }
  const url = `http://${listen.host}:${listen.port}/checkv2`
  const system = await startMailSystem({
    listen,
    nameServer: '127.0.0.1',
    unpackedFrom: 'rspamd',
    files: {
      '/etc/rspamd/local.d/worker-normal.inc': `bind_socket = "${listen.host}:${listen.port}";\ncount = 1;\n`,
      '/etc/rspamd/local.d/worker-controller.inc': off,
      '/etc/rspamd/local.d/worker-proxy.inc': off,
      // It asks a server of its makers.
      '/etc/rspamd/local.d/fuzzy_check.conf': off,
      // It would spend half a minute on what makes thousands of checks quicker.
      '/etc/rspamd/local.d/options.inc': `dns { nameserver = ["${nameServer}"]; }\ndisable_hyperscan = true;\nurl_tld = "/etc/rspamd/suffixes";\n`,
      '/etc/rspamd/suffixes': 'example\n',
      '/etc/rspamd/local.d/logging.inc': 'type = "console";\nlevel = "notice";\n',
    },
    prepare: 'mkdir -p /run/rspamd /var/lib/rspamd /var/log/rspamd',
    command: ['rspamd', '-f', '-i'],
  })
  return {
    async check(message, { ip, helo, from, to }) {
      const headers = { IP: ip, Helo: helo, Hostname: helo, From: from, Rcpt: to, 'TLS-Version': 'TLSv1.3' }
      const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(message) })
      const text = await response.text()
      const { symbols } = JSON.parse(text) as { symbols?: Record<string, { score: number }> }
      if (!symbols) throw new Error(`rspamd did not check it: ${text}\n${system.log()}`)
      return Object.fromEntries(Object.entries(symbols).map(([name, { score }]) => [name, score]))
    },
    stop: () => system.stop(),
  }
}
