import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Starts an S3 server with an empty bucket `copies`; the settings that lead there. */
export async function startS3(): Promise<{ settings: Record<string, string>; stop(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'sterna-s3-'))
  // It makes the tokens with which lists go on with DES.
  const execArgv = ['--openssl-legacy-provider']
  const child = fork(join(import.meta.dirname, 's3-server-process.ts'), [directory], { execArgv })
  const [port] = (await once(child, 'message')) as [number]
  return {
    settings: {
      STERNA_BACKUP_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      STERNA_BACKUP_S3_ACCESS_KEY_ID: 'S3RVER',
      STERNA_BACKUP_S3_SECRET_ACCESS_KEY: 'S3RVER',
    },
    async stop() {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
