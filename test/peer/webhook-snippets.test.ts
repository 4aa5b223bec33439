import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { webhookSnippets } from '../../src/clients/dashboard/webhook-snippets.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

/** The snippets of the dashboard, run as they are shown, against what a webhook really got. */

interface Received {
  body: string
  headers: Record<string, string>
  secret: string
}

type Language = keyof typeof webhookSnippets

/** A program around each snippet: it reads what was received as JSON and prints true or false. */
const programs: Record<Language, { command: string[]; files(snippet: string): Record<string, string> }> = {
  Node: {
    command: [process.execPath, 'main.mjs'],
    files: (snippet) => ({
      'snippet.mjs': snippet,
      'main.mjs': `import { readFileSync } from 'node:fs'
import { isGenuine } from './snippet.mjs'
const { body, headers, secret } = JSON.parse(readFileSync(0, 'utf8'))
console.log(isGenuine(Buffer.from(body), headers, secret))`,
    }),
  },
  Python: {
    command: ['python3', 'main.py'],
    files: (snippet) => ({
      'snippet.py': snippet,
      'main.py': `import json, sys
from snippet import is_genuine
given = json.load(sys.stdin)
print(str(is_genuine(given["body"].encode(), given["headers"], given["secret"])).lower())`,
    }),
  },
  PHP: {
    command: ['php', 'main.php'],
    files: (snippet) => ({
      'snippet.php': snippet,
      'main.php': `<?php require 'snippet.php';
$given = json_decode(file_get_contents('php://stdin'), true);
echo is_genuine($given['body'], $given['headers'], $given['secret']) ? 'true' : 'false';`,
    }),
  },
  Ruby: {
    command: ['ruby', 'main.rb'],
    files: (snippet) => ({
      'snippet.rb': snippet,
      'main.rb': `require "json"
require_relative "snippet"
given = JSON.parse($stdin.read)
puts genuine?(given["body"], given["headers"], given["secret"])`,
    }),
  },
  Go: {
    command: ['/usr/lib/go-1.19/bin/go', 'run', '.'],
    files: (snippet) => ({
      'go.mod': 'module example\n\ngo 1.19\n',
      'webhook/webhook.go': snippet,
      'main.go': `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"example/webhook"
)

func main() {
	var given struct {
		Body    string
		Headers map[string]string
		Secret  string
	}
	json.NewDecoder(os.Stdin).Decode(&given)
	header := http.Header{}
	for name, value := range given.Headers {
		header.Set(name, value)
	}
	fmt.Println(webhook.IsGenuine([]byte(given.Body), header, given.Secret))
}
`,
    }),
  },
}

const env = { ...process.env, GOCACHE: '/var/cache/sterna-peers/go', CGO_ENABLED: '0' }

interface Post extends Received {
  earlierSecret: string
}

let post: Promise<Post> | undefined

/** What a webhook got while its secret was being rotated. */
async function receive(): Promise<Post> {
  const relay = await startTestRelay({ webhooks_allow_private_addresses: 'true' })
  onTestFinished(() => relay.stop())
  relay.clock.advance(Date.now() - relay.clock.now())
  const receiver = await startReceiver(status(200))
  const { body: webhook } = await relay.call('POST', '/api/webhooks', { url: receiver.url })
  const { body: rotated } = await relay.call('POST', `/api/webhooks/${webhook.id}/rotate-secret`)
  await relay.call('POST', `/api/webhooks/${webhook.id}/test`)
  const [{ body, headers } = { body: '', headers: {} }] = receiver.posts
  return { body, headers, secret: rotated.signing_secret, earlierSecret: webhook.signing_secret }
}

/** A folder with the program. */
function written(language: Language): string {
  const path = testDirectory()
  for (const [name, text] of Object.entries(programs[language].files(webhookSnippets[language]))) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  return path
}

for (const language of Object.keys(programs) as Language[]) {
  test(`${language} tells what is genuine`, async () => {
    const cwd = written(language)
    const [program = '', ...args] = programs[language].command
    const verdict = (given: Received): string =>
      execFileSync(program, args, { cwd, env, input: JSON.stringify(given) })
        .toString()
        .trim()
    const { earlierSecret, ...received } = await (post ??= receive())
    const { headers } = received
    const cases: [string, Received][] = [
      ['true', received],
      ['true', { ...received, secret: earlierSecret }],
      ['false', { ...received, body: received.body.replace('{', '{ ') }],
      ['false', { ...received, secret: `whsec_${Buffer.alloc(32).toString('base64')}` }],
      ['false', { ...received, headers: { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 3600) } }],
      ['false', { ...received, headers: { ...headers, 'webhook-signature': '' } }],
      ['false', { ...received, headers: {} }],
    ]
    expect(cases.map(([, given]) => verdict(given))).toEqual(cases.map(([wanted]) => wanted))
  })
}
