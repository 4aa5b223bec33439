/** What a snippet has in it. */
interface SnippetValues {
  baseUrl: string
  token: string
  /** Bare addresses. */
  from: string
  to: string
}

const subject = 'Hello from Sterna'
const text = 'It works.'

/** Programs that send one email with what their language brings along, by the names of the languages. */
export const snippets: Record<string, (values: SnippetValues) => string> = {
  curl: ({ baseUrl, token, from, to }) => `curl ${baseUrl}/api/emails \\
  -H ${shell(`Authorization: Bearer ${token}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shell(JSON.stringify({ from, to, subject, text }))}`,

  'Node.js': ({ baseUrl, token, from, to }) => `const response = await fetch(${double(`${baseUrl}/api/emails`)}, {
  method: "POST",
  headers: {
    Authorization: ${double(`Bearer ${token}`)},
    "Content-Type": "application/json",
  },
  body: JSON.stringify({
    from: ${double(from)},
    to: ${double(to)},
    subject: ${double(subject)},
    text: ${double(text)},
  }),
});
console.log(response.status, await response.json());`,

  Python: ({ baseUrl, token, from, to }) => `import json
import urllib.request

request = urllib.request.Request(
    ${double(`${baseUrl}/api/emails`)},
    data=json.dumps({
        "from": ${double(from)},
        "to": ${double(to)},
        "subject": ${double(subject)},
        "text": ${double(text)},
    }).encode(),
    headers={
        "Authorization": ${double(`Bearer ${token}`)},
        "Content-Type": "application/json",
    },
)
print(urllib.request.urlopen(request).read().decode())`,

  PHP: ({ baseUrl, token, from, to }) => `<?php
$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [${single(`Authorization: Bearer ${token}`)}, 'Content-Type: application/json'],
    'content' => json_encode([
        'from' => ${single(from)},
        'to' => ${single(to)},
        'subject' => ${single(subject)},
        'text' => ${single(text)},
    ]),
    'ignore_errors' => true,
]]);
echo file_get_contents(${single(`${baseUrl}/api/emails`)}, false, $context);`,

  Ruby: ({ baseUrl, token, from, to }) => `require 'json'
require 'net/http'

response = Net::HTTP.post(
  URI(${single(`${baseUrl}/api/emails`)}),
  JSON.generate(
    from: ${single(from)},
    to: ${single(to)},
    subject: ${single(subject)},
    text: ${single(text)}
  ),
  'Authorization' => ${single(`Bearer ${token}`)},
  'Content-Type' => 'application/json'
)
puts response.body`,

  Go: ({ baseUrl, token, from, to }) => `package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	body, _ := json.Marshal(map[string]string{
		"from":    ${double(from)},
		"to":      ${double(to)},
		"subject": ${double(subject)},
		"text":    ${double(text)},
	})
	request, err := http.NewRequest("POST", ${double(`${baseUrl}/api/emails`)}, bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", ${double(`Bearer ${token}`)})
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	io.Copy(os.Stdout, response.Body)
}`,
}

const shell = (value: string): string => `'${value.replaceAll("'", String.raw`'\''`)}'`
/** The strings of JSON are also those of JavaScript, Python and Go. */
const double = (value: string): string => JSON.stringify(value)
/** PHP and Ruby put variables into double quotes. */
const single = (value: string): string => `'${value.replace(/[\\']/g, String.raw`\$&`)}'`
