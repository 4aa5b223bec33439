/**
 * Proves what a lost machine costs: a real server under mixed SMTP and HTTP load, with a continuous copy and a backup made in the midst, is
 * killed (SIGKILL), started again, killed again, and its data directory is thrown away. Then the copy and the backup are restored elsewhere.
 * Once with a directory as the target, and once encrypted in a real S3 server. Loopback only, bounded.
 *
 * node scripts/copy-campaign.ts [--seconds 4] [--seed N] [--only directory|s3] [--most-loss 2]
 *
 * Exits 0 when the copy lacks nothing that was acknowledged more than `most-loss` seconds before the last kill, and the backup nothing that
 * was acknowledged before it was begun. A busy machine needs more than the two seconds that hold on one of its own.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Sqlite from 'better-sqlite3'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startS3 } from '../test/support/s3-server.ts'
import { startLedgerSink } from './campaign/ledger-sink.ts'
import { startMixedLoad } from './campaign/mixed-load.ts'
import { seededRandom } from './campaign/seeded-random.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    'most-loss': { type: 'string', default: '2' },
  },
})
const maxLossMs = Number(values['most-loss']) * 1_000
const seconds = Number(values.seconds)
const random = seededRandom(Number(values.seed))
console.log(`seed ${values.seed}`)

const sink = await startLedgerSink('127.0.0.2')
const mx = { mx: [[10, 'sink.example']] as [number, string][], ttl: 60 }
const zone = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`rcpt${i}.example`, mx]))
const dns = await startFakeDns({ ...zone, 'sink.example': { a: ['127.0.0.2'], ttl: 60 } })

const results: boolean[] = []
if (values.only !== 's3') {
  const target = mkdtempSync(join(tmpdir(), 'sterna-copies-'))
  results.push(await campaign('directory', { STERNA_BACKUP_TARGET: target }))
  rmSync(target, { recursive: true, force: true })
}
if (values.only !== 'directory') {
  const s3 = await startS3()
  results.push(await campaign('s3', { ...s3.settings, STERNA_BACKUP_TARGET: 's3://copies/of/this' }))
  await s3.stop()
}
dns.close()
sink.close()
process.exit(results.every(Boolean) ? 0 : 1)

async function campaign(name: string, settings: Record<string, string>): Promise<boolean> {
  const place = mkdtempSync(join(tmpdir(), 'sterna-campaign-'))
  const directory = join(place, 'data')
  const server = await ServerUnderTest.prepare(directory, dns.server, sink.port, {
    ...settings,
    STERNA_BACKUP_CONTINUOUS: 'true',
    STERNA_LOG_LEVEL: 'warn',
  })
  if (name === 's3') {
    const { identity, recipient } = JSON.parse(server.command('backup', 'identity', '--json')) as Record<string, string>
    writeFileSync(join(place, 'identity'), `${identity}\n`)
    server.environment['STERNA_BACKUP_ENCRYPT_TO'] = recipient
  }
  copyFileSync(join(directory, 'secret.key'), join(place, 'secret.key'))
  const acknowledgedAt = new Map<string, number>()
  await server.start()
  const load = startMixedLoad(server, {
    smtpClients: 4,
    httpClients: 2,
    size: 4096,
    onAcknowledged: (id) => acknowledgedAt.set(id, Date.now()),
  })
  await pause(1_500 + seconds * 250)
  const before = new Set(acknowledgedAt.keys())
  const backedUp = await server.tryCommand('backup')
  await pause(random() * 500)
  await server.end('SIGKILL')
  await server.start()
  await pause(seconds * 1_000 + random() * 1_000)
  const killedAt = Date.now()
  const ending = await server.end('SIGKILL')
  // What was read from a socket after this moment was acknowledged before it.
  await pause(50)
  const stopped = load.stop()
  rmSync(directory, { recursive: true, force: true })

  const copy = await restored(server, join(place, 'copy'), ['--copy'])
  const backup = await restored(server, join(place, 'backup'), [])
  await stopped
  const missing = [...acknowledgedAt].filter(([id]) => !copy.ids.has(id)).map(([, at]) => killedAt - at)
  const lossMs = Math.max(0, ...missing)
  const notBackedUp = [...before].filter((id) => !backup.ids.has(id))
  const isGood =
    copy.ids.size > 0 &&
    before.size > 0 &&
    lossMs <= maxLossMs &&
    notBackedUp.length === 0 &&
    backedUp.code === 0 &&
    copy.ids.size >= before.size
  console.log(
    `${name}: ${acknowledgedAt.size} acknowledged; the copy lacks ${missing.length}, the oldest from ${lossMs} ms before the kill ` +
      `(restored in ${copy.seconds} s); the backup has all but ${notBackedUp.length} of the ${before.size} before it (${backup.seconds} s)`,
  )
  if (!isGood)
    console.error('FAILED', {
      log: ending?.stderr.slice(-3_000),
      backedUp,
      copy: copy.said,
      backup: backup.said,
      notBackedUp: notBackedUp.slice(0, 5),
    })
  rmSync(place, { recursive: true, force: true })
  return isGood
}

/** Restores into a new directory; the numbers of the messages that are there. */
async function restored(
  server: ServerUnderTest,
  directory: string,
  options: string[],
): Promise<{ ids: Set<string>; seconds: string; said: string }> {
  const elsewhere = await server.on(directory)
  const place = join(directory, '..')
  const startedAt = performance.now()
  const identity = join(place, 'identity')
  const opening = ['--key', join(place, 'secret.key'), ...(existsSync(identity) ? ['--identity', identity] : [])]
  const { stdout, stderr } = await elsewhere.tryCommand('restore', ...opening, ...options)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  if (stdout.trim() === '') return { ids: new Set(), seconds, said: stderr }
  const database = new Sqlite(stdout.trim(), { readonly: true })
  const paths = database.prepare('select r.forward_path from recipient r join message m on m.id = r.message_id').pluck().all() as string[]
  const fault = database.pragma('integrity_check', { simple: true })
  database.close()
  return { ids: fault === 'ok' ? new Set(paths.map((path) => path.split('@')[0] ?? '')) : new Set(), seconds, said: stderr }
}
