import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryDirectory } from './temporary-directory.ts'

/** Starts an S3 server with an empty bucket `copies`; the settings that lead there. */
export async function startS3(): Promise<{ settings: Record<string, string>; stop(): Promise<void> }> {
  const directory = temporaryDirectory()
  // It makes the tokens with which lists go on with DES.
  const execArgv = ['--openssl-legacy-provider']
  const child = fork(join(import.meta.dirname, 's3-server-process.ts'), [directory.path], { execArgv })
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
      directory.remove()
    },
  }
}

/** The same for the running test. */
export async function testS3(): Promise<Record<string, string>> {
  const { settings, stop } = await startS3()
  onTestFinished(stop)
  return settings
}
