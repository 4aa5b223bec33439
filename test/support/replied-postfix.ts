import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { createTransport } from 'nodemailer'
import { freePort } from '../../bench/free-port.ts'
import { postfixDirectory, startPostfixInstance } from '../../bench/postfix-instance.ts'
import type { MadeReply } from './made-replies.ts'
import { domainOf, type ReplyLife } from './reply-lives.ts'
import { addressOf, startReplyingHosts } from './replying-host.ts'

/** How long Postfix waits for a reply: some of these hosts never give one. */
const patience = '8s'
const words = { sent: 'delivered', deferred: 'deferred', bounced: 'bounced' } as const

/** The same as `livesWithSterna`, with Debian's Postfix. */
export async function livesWithPostfix(replies: MadeReply[], attempts: number): Promise<ReplyLife[]> {
  const hosts = await startReplyingHosts(replies)
  onTestFinished(() => hosts.close())
  const directory = postfixDirectory()
  const transport = join(directory, 'transport')
  const routes = replies.map((reply, i) => `${domainOf(i)} smtp:[${addressOf(reply, i)}]:${hosts.port}`)
  writeFileSync(transport, [...routes, 'sender.example discard:', ''].join('\n'))
  const port = await freePort()
  const log = `/var/log/sterna-replies-${port}.log`
  const timeouts = ['connect', 'helo', 'mail', 'rcpt', 'data_init', 'data_xfer', 'data_done', 'quit', 'rset']
  const postfix = await startPostfixInstance(
    directory,
    { host: '127.0.0.33', port },
    {
      maillog_file: log,
      transport_maps: `texthash:${transport}`,
      disable_dns_lookups: 'yes',
      default_process_limit: '400',
      smtpd_relay_restrictions: 'permit_mynetworks, reject',
      smtpd_peername_lookup: 'no',
      // It tries again only when it is told to.
      minimal_backoff_time: '1h',
      maximal_backoff_time: '1h',
      queue_run_delay: '1h',
      smtpd_recipient_limit: String(replies.length),
      ...Object.fromEntries(timeouts.map((phase) => [`smtp_${phase}_timeout`, patience])),
    },
  )
  onTestFinished(() => {
    postfix.stop()
    rmSync(log, { force: true })
  })
  const client = createTransport({ host: '127.0.0.33', port, ignoreTLS: true })
  const to = replies.map((_, i) => `u@${domainOf(i)}`)
  await client.sendMail({ envelope: { from: 'app@sender.example', to }, text: 'Hello' })
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (attempt > 1) execFileSync('/usr/sbin/postqueue', ['-c', join(directory, 'etc'), '-f'])
    await expect.poll(() => untried(endsIn(log), replies.length, attempt), { timeout: 240_000, interval: 500 }).toBe(0)
  }
  const ends = endsIn(log)
  return hosts.copies.map((copies, i) => ({ state: ends[i]?.at(-1) ?? 'deferred', copies }))
}

/** How many of the domains are neither through nor tried so often. */
const untried = (ends: ReplyLife['state'][][], count: number, times: number): number =>
  Array.from({ length: count }, (_, i) => ends[i] ?? []).filter((of) => of.length < times && of.every((end) => end === 'deferred')).length

/** How each attempt at each domain ended, by the domain's number. */
function endsIn(log: string): ReplyLife['state'][][] {
  const ends: ReplyLife['state'][][] = []
  for (const [, number, status] of readFileSync(log, 'utf8').matchAll(/to=<u@c(\d+)\.example>.* status=(sent|deferred|bounced) /g))
    (ends[Number(number)] ??= []).push(words[status as keyof typeof words])
  return ends
}
