package main

import (
	"crypto/tls"
	"net/smtp"
	"os"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	message, err := os.ReadFile(os.Getenv("MESSAGE"))
	must(err)
	host := os.Getenv("HOST")
	client, err := smtp.Dial(host + ":" + os.Getenv("PORT"))
	must(err)
	must(client.StartTLS(&tls.Config{InsecureSkipVerify: true}))
	must(client.Auth(smtp.PlainAuth("", "any", os.Getenv("KEY"), host)))
	must(client.Mail(os.Getenv("FROM")))
	must(client.Rcpt(os.Getenv("TO")))
	content, err := client.Data()
	must(err)
	_, err = content.Write(message)
	must(err)
	must(content.Close())
	must(client.Quit())
}
