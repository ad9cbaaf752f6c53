/* The least that any client can do with one stream: one blocking recv a token, and nothing with what it got.
 * Started by bare_receiver.py: PORT TOKENS WAVES. Prints CPU microseconds a token; the first wave warms up. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double cpu_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

int main(int count, char **values) {
  if (count != 4) return 2;
  int port = atoi(values[1]), tokens = atoi(values[2]), waves = atoi(values[3]), one = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  int sock = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(sock, (void *)&address, sizeof address)) return perror("connect"), 1;
  setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  static char buffer[65536], request[1024], body[512];
  snprintf(body, sizeof body,
           "{\"model\":\"simulated\",\"messages\":[{\"role\":\"user\",\"content\":\"w\"}],\"max_tokens\":%d,"
           "\"stream\":true}", tokens);
  int length = snprintf(request, sizeof request,
                        "POST /v1/chat/completions HTTP/1.1\r\nHost: bare\r\nContent-Length: %zu\r\n\r\n%s",
                        strlen(body), body);
  double used = 0;
  for (int wave = 0; wave <= waves; wave++) {
    double before = cpu_us();
    if (write(sock, request, length) != length) return perror("write"), 1;
    for (;;) {
      ssize_t size = recv(sock, buffer, sizeof buffer, 0);
      if (size <= 0) return perror("recv"), 1;
      if (size >= 5 && !memcmp(buffer + size - 5, "0\r\n\r\n", 5)) break;
    }
    if (wave) used += cpu_us() - before;
  }
  printf("%.1f\n", used / ((double)tokens * waves));
  return 0;
}
