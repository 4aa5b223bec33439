/** Checks a copy of the database and stores it. Started by backups.ts for one backup. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { messageOf } from '../../platform/errors.ts'
import type { TargetPlace } from './backup-settings.ts'
import { storeBackup, type BackupSource, type Manifest } from './store-backup.ts'
import { openTarget } from './open-target.ts'

/** What the thread is started with. */
export interface BackupJob extends TargetPlace {
  source: BackupSource
}

/** What it answers, once. */
export type BackupAnswer = { manifest: Manifest } | { error: string }

const { place, access, source } = workerData as BackupJob

async function run(): Promise<BackupAnswer> {
  try {
    return { manifest: await storeBackup(source, openTarget(place, access, '/')) }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

void run().then((answer) => (parentPort as MessagePort).postMessage(answer))
